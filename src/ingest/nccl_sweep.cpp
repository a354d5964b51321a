#include "ingest/nccl_sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/math.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/nccl_tuning.h"
#include "ingest/nccl_words.h"
#include "model/fields.h"

namespace muster {
namespace {

constexpr std::size_t kTextMax = 200;
constexpr std::uint64_t kRanksMax = 1'000'000, kChannelsMax = 64, kRunsMax = 1'000'000;
constexpr std::uint64_t kBufferMax = std::uint64_t{1} << 40;
constexpr double kMostBytes = 1e16, kMostUs = 1e12;

const char* const kColumns[] = {"collective", "nodes",    "ranks_per_node", "nvlink_domain", "registered", "bytes",
                                "algorithm",  "protocol", "channels",       "run",           "time_us"};

// One row's cells; the first that is wrong is kept.
class Cells {
 public:
  Cells(const Csv& csv, std::size_t row, std::string_view file) : csv_(csv), row_(row), file_(file) {}

  std::string_view text(std::string_view column) const { return trim(csv_.cell(row_, column)); }
  std::uint64_t whole(std::string_view column, std::uint64_t least, std::uint64_t most, std::uint64_t otherwise) {
    const std::string_view cell = text(column);
    if (cell.empty()) return otherwise;
    const auto n = parse_uint(cell);
    if (n && *n >= least && *n <= most) return *n;
    wrong(column, fmt::format("a whole number from {} to {}", least, most));
    return otherwise;
  }
  double number(std::string_view column, double most) {
    const std::string_view cell = text(column);
    if (cell.empty()) return 0;
    const auto n = parse_double(cell);
    if (n && *n >= 0 && *n <= most) return *n;
    wrong(column, fmt::format("a number from 0 to {:g}", most));
    return 0;
  }
  void wrong(std::string_view column, std::string_view must_be) {
    if (error.empty())
      error = fmt::format("{}:{}: {} must be {}, is '{}'", file_, csv_.lines[row_], column, must_be,
                          printable(text(column).substr(0, 40)));
  }

  std::string error;

 private:
  const Csv& csv_;
  std::size_t row_;
  std::string_view file_;
};

bool left_to_nccl(std::string_view algorithm) {
  const std::string word = lower(algorithm);
  return word.empty() || word == "default" || word == "own" || word == "nccl" || word == "auto";
}

NcclWay way_of(Cells& c) {
  NcclWay way;
  way.own = left_to_nccl(c.text("algorithm"));
  way.buffer_bytes = c.whole("buffer_bytes", 0, kBufferMax, 0);
  if (way.own) return way;
  const auto algorithm = nccl_algorithm(c.text("algorithm"));
  const auto protocol = nccl_protocol(c.text("protocol"));
  if (!algorithm) c.wrong("algorithm", "default or one of NCCL's: tree, ring, nvls, ...");
  if (!protocol) c.wrong("protocol", "ll, ll128 or simple");
  way.algorithm = algorithm.value_or(way.algorithm);
  way.protocol = protocol.value_or(way.protocol);
  // NCCL's plugins say -1 for as many as it takes.
  way.channels = c.text("channels") == "-1" ? 0 : static_cast<std::uint32_t>(c.whole("channels", 0, kChannelsMax, 0));
  return way;
}

TuneKey key_of(Cells& c) {
  TuneKey key;
  const auto op = collective_of(c.text("collective"));
  if (!op) c.wrong("collective", "all_reduce, all_gather, reduce_scatter, broadcast or reduce");
  key.op = op.value_or(key.op);
  key.nodes = static_cast<std::uint32_t>(c.whole("nodes", 1, kRanksMax, 1));
  key.ranks_per_node = static_cast<std::uint32_t>(c.whole("ranks_per_node", 1, 4096, 1));
  key.nvlink_domain = static_cast<std::uint32_t>(c.whole("nvlink_domain", 1, kRanksMax, key.ranks_per_node));
  const std::string registered = lower(c.text("registered"));
  key.registered = registered == "1" || registered == "true" || registered == "yes";
  return key;
}

// ---- nccl-tests

std::string setting(const NcclTestRun& run, const NcclLog& log, std::string_view name, bool& mixed) {
  for (const auto& [key, value] : run.settings) {
    if (key == name) return value;
  }
  std::string found;
  for (const NcclSetting& s : log.settings) {
    if (s.name != name) continue;
    mixed = mixed || (!found.empty() && found != s.value);
    found = s.value;
  }
  return found;
}

struct Forced {
  std::string why_not;  // none can be told
  NcclWay way;
  bool half = false;  // an algorithm without a protocol or the other way round
};

Forced forced_way(const NcclTestRun& run, const NcclLog& log) {
  bool mixed = false;
  const std::string algorithm = setting(run, log, "NCCL_ALGO", mixed), protocol = setting(run, log, "NCCL_PROTO", mixed);
  Forced out;
  out.way.own = algorithm.empty() && protocol.empty();
  const auto channels = parse_uint(setting(run, log, "NCCL_MAX_NCHANNELS", mixed));
  const auto least = parse_uint(setting(run, log, "NCCL_MIN_NCHANNELS", mixed));
  if (channels && least && *channels == *least && *channels <= kChannelsMax)
    out.way.channels = static_cast<std::uint32_t>(*channels);
  if (const auto buffer = parse_uint(setting(run, log, "NCCL_BUFFSIZE", mixed)); buffer && *buffer <= kBufferMax)
    out.way.buffer_bytes = *buffer;
  if (mixed) {
    out.why_not = "NCCL_ALGO, NCCL_PROTO, the channels or NCCL_BUFFSIZE have several values in it: one launch a file";
    return out;
  }
  if (out.way.own) {
    if (out.way.channels != 0) out.why_not = "NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS are set, but no algorithm";
    return out;
  }
  const auto a = nccl_algorithm(algorithm);
  const auto p = nccl_protocol(protocol);
  out.half = !a || !p;
  if ((!algorithm.empty() && !a) || (!protocol.empty() && !p))
    out.why_not = "NCCL_ALGO or NCCL_PROTO names several, or none that is known";
  out.way.algorithm = a.value_or(out.way.algorithm);
  out.way.protocol = p.value_or(out.way.protocol);
  return out;
}

std::optional<NcclWay> picked(const NcclLog& log, Collective op, double bytes) {
  for (const NcclPick& p : log.picks) {
    if (p.bytes != bytes) continue;
    const auto of = p.op.empty() ? std::optional(op) : collective_of(p.op);
    const auto a = nccl_algorithm(p.algorithm);
    const auto q = nccl_protocol(p.protocol);
    if (of != op || !a || !q) continue;
    return NcclWay{false, *a, *q, static_cast<std::uint32_t>(std::max(0, p.channels)), 0};
  }
  return {};
}

// Out of place and in place are the same work: their geometric mean is less noisy than the better of the two is fair.
double time_of(const NcclTestRow& row) {
  double logs = 0;
  int n = 0;
  for (const auto* half : {&row.out, &row.in}) {
    if (!half->has_value()) continue;
    const double us = (*half)->median_us > 0 ? (*half)->median_us : (*half)->time_us;
    if (!(us > 0 && us < kMostUs)) continue;
    logs += det_log(us);
    ++n;
  }
  return n == 0 ? 0 : det_exp(logs / n);
}

std::optional<TuneKey> key_of(const NcclTestRun& run, const NcclLog& log, const TuneHint& hint, std::string& why_not) {
  TuneKey key;
  if (!run.op && !hint.op) {
    why_not = "which operation it is cannot be told (--collective OP)";
    return {};
  }
  key.op = hint.op ? *hint.op : *run.op;
  key.nodes = run.nodes;
  key.ranks_per_node = run.per_node;
  std::uint32_t ranks = run.ranks;
  for (const NcclComm& c : log.comms) {
    if (c.nodes == 0 || c.local_ranks == 0 || (ranks != 0 && c.ranks != ranks)) continue;
    // NCCL's own count of nodes is what its tuner goes by, whatever the hosts are called.
    key.nodes = c.nodes;
    key.ranks_per_node = c.local_ranks;
    break;
  }
  if (hint.nodes != 0) key.nodes = hint.nodes;
  if (hint.ranks_per_node != 0) key.ranks_per_node = hint.ranks_per_node;
  if (key.nodes == 0 && key.ranks_per_node != 0 && ranks != 0) key.nodes = ranks / key.ranks_per_node;
  if (key.ranks_per_node == 0 && key.nodes != 0 && ranks != 0) key.ranks_per_node = ranks / key.nodes;
  if (key.nodes == 0 || key.ranks_per_node == 0) {
    why_not = "it does not say on how many nodes (--nodes N --ranks-per-node N)";
    return {};
  }
  key.nvlink_domain = hint.nvlink_domain != 0 ? hint.nvlink_domain : key.ranks_per_node;
  key.registered = hint.registered.value_or(run.registered);
  return key;
}

}  // namespace

void TuneInput::add(TuneInput&& more) {
  runs.insert(runs.end(), std::make_move_iterator(more.runs.begin()), std::make_move_iterator(more.runs.end()));
  picks.insert(picks.end(), more.picks.begin(), more.picks.end());
  if (beliefs.empty()) beliefs = std::move(more.beliefs);
  notes.insert(notes.end(), std::make_move_iterator(more.notes.begin()), std::make_move_iterator(more.notes.end()));
}

bool looks_like_sweep(std::string_view text) {
  while (text.starts_with('#')) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  const std::string_view head = text.substr(0, std::min<std::size_t>(text.find('\n'), 1024));
  return head.find("collective") != std::string_view::npos && head.find("ranks_per_node") != std::string_view::npos &&
         head.find("algorithm") != std::string_view::npos;
}

std::string sweep_command(std::string_view text) {
  std::string_view found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with("# command:")) found = line;
    at = end + 1;
  }
  return printable(trim(found));
}

Result<TuneInput> parse_sweep(std::string_view text, std::string_view file) {
  const auto csv = parse_csv(text, file);
  if (!csv) return tl::unexpected<Error>(csv.error());
  for (const char* name : kColumns) {
    if (csv->column(name) < 0)
      return fail(Code::bad_input, fmt::format("{}:1: the column {} is missing", file, name),
                  "docs/formats/sweep.md has the columns of a sweep");
  }
  if (csv->rows.size() > kSweepRowsMax)
    return fail(Code::bad_input, fmt::format("{}: {} rows, and at most {} are read", file, csv->rows.size(), kSweepRowsMax),
                "one file for each collective");
  TuneInput out;
  std::map<std::tuple<TuneKey, NcclWay, std::uint32_t>, std::size_t> index;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    Cells c(*csv, i, file);
    const TuneKey key = key_of(c);
    const NcclWay way = way_of(c);
    const auto run = static_cast<std::uint32_t>(c.whole("run", 0, kRunsMax, 0));
    const double bytes = c.number("bytes", kMostBytes), us = c.number("time_us", kMostUs), took = c.number("seconds", kMostUs);
    const std::string failure = printable(c.text("failure").substr(0, kTextMax));
    if (c.error.empty() && failure.empty() && !(bytes > 0)) c.wrong("bytes", "above 0");
    if (c.error.empty() && failure.empty() && !(us > 0)) c.wrong("time_us", "above 0");
    if (!c.error.empty()) return fail(Code::bad_input, c.error, "docs/formats/sweep.md says what stands in each column");
    const auto [at, fresh] = index.try_emplace({key, way, run}, out.runs.size());
    if (fresh) out.runs.push_back({key, way, run, took, failure, {}});
    if (failure.empty()) out.runs[at->second].times.emplace_back(bytes, us);
  }
  if (out.runs.empty())
    return fail(Code::bad_input, fmt::format("{}: no row is in it", file), "muster tune sweep -- COMMAND writes such tables");
  return out;
}

TuneInput tune_input(const NcclTestLog& tests, const NcclLog& log, const TuneHint& hint) {
  TuneInput out;
  out.beliefs = log.beliefs;
  for (const NcclTestRun& run : tests.runs) {
    std::string why_not;
    const auto leave = [&](const std::string& why) {
      out.notes.push_back(fmt::format("{}:{}: left out: {}", tests.file, run.line, why));
    };
    const auto key = key_of(run, log, hint, why_not);
    if (!key) {
      leave(why_not);
      continue;
    }
    const Forced forced = forced_way(run, log);
    if (!forced.why_not.empty()) {
      leave(forced.why_not);
      continue;
    }
    // What was forced by half is known only where NCCL said what came of it, which may be another way at each size.
    std::map<NcclWay, SweepRun> by_way;
    bool untold = false;
    for (const NcclTestRow& row : run.rows) {
      const double us = time_of(row);
      if (!(row.bytes > 0 && us > 0)) continue;
      NcclWay way = forced.way;
      const auto pick = picked(log, key->op, row.bytes);
      if (forced.half && !pick) untold = true;
      if (forced.half && pick) way = {false, pick->algorithm, pick->protocol, way.channels, way.buffer_bytes};
      if (forced.half && !pick) continue;
      if (way.is_default() && pick) out.picks.push_back({*key, row.bytes, *pick});
      SweepRun& to = by_way[way];
      to.key = *key;
      to.way = way;
      to.times.emplace_back(row.bytes, us);
    }
    if (untold) leave("NCCL_ALGO without NCCL_PROTO, or the other way round: which of them it took cannot be told");
    for (auto& [way, one] : by_way) out.runs.push_back(std::move(one));
  }
  return out;
}

TuneInput tune_input(const NcclLog& log, const TuneHint& hint) {
  TuneInput out;
  out.beliefs = log.beliefs;
  for (const NcclPick& p : log.picks) {
    NcclTestRun none;
    none.op = collective_of(p.op.empty() ? "AllReduce" : p.op);
    std::string why_not;
    const auto key = key_of(none, log, hint, why_not);
    const auto way = key ? picked(log, key->op, p.bytes) : std::nullopt;
    if (way) out.picks.push_back({*key, p.bytes, *way});
    if (!key && out.notes.empty()) out.notes.push_back(fmt::format("{}: {}", log.files.empty() ? "" : log.files[0], why_not));
  }
  return out;
}

void count_once(TuneInput& input) {
  using Times = std::vector<std::pair<double, double>>;
  std::set<std::tuple<TuneKey, NcclWay, std::uint32_t, std::string, Times>> seen;
  std::vector<SweepRun> kept;
  for (SweepRun& r : input.runs) {
    Times times = r.times;
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    if (seen.emplace(r.key, r.way, r.run, r.failure, std::move(times)).second) kept.push_back(std::move(r));
  }
  const std::size_t again = input.runs.size() - kept.size();
  if (again > 0)
    input.notes.push_back(fmt::format("{} launch{} again with the same shape, way, number and times: counted once", again,
                                      again == 1 ? " comes" : "es come"));
  input.runs = std::move(kept);
}

void number_runs(std::vector<SweepRun>& runs) {
  std::map<std::pair<TuneKey, NcclWay>, std::uint32_t> next;
  for (SweepRun& r : runs) r.run = next[{r.key, r.way}]++;
}

std::vector<TuneTime> times_of(const std::vector<SweepRun>& runs) {
  std::vector<TuneTime> out;
  for (const SweepRun& r : runs) {
    for (const auto& [bytes, us] : r.times) out.push_back({r.key, bytes, r.way, r.run, us});
  }
  return out;
}

}  // namespace muster
