#include "ingest/sacct_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "ingest/gres_text.h"
#include "ingest/sacct_json.h"
#include "ingest/sacct_words.h"

namespace muster {
namespace {

enum Col : std::uint8_t {
  c_cluster,
  c_id,
  c_id_raw,
  c_name,
  c_user,
  c_account,
  c_partition,
  c_qos,
  c_state,
  c_submit,
  c_eligible,
  c_start,
  c_end,
  c_elapsed_raw,
  c_elapsed,
  c_nodes,
  c_alloc_nodes,
  c_node_list,
  c_alloc_tres,
  c_req_tres,
  c_alloc_gres,
  c_req_gres,
  c_gres_used,
  c_restarts,
  c_suspended,
  c_energy,
  kCols
};
constexpr std::array<std::string_view, kCols> kNames = {"cluster",          "jobid",      "jobidraw", "jobname",    "user",
                                                        "account",          "partition",  "qos",      "state",      "submit",
                                                        "eligible",         "start",      "end",      "elapsedraw", "elapsed",
                                                        "nnodes",           "allocnodes", "nodelist", "alloctres",  "reqtres",
                                                        "allocgres",        "reqgres",    "gresused", "restarts",   "suspended",
                                                        "consumedenergyraw"};
// Users write these as they like.
constexpr std::array<std::string_view, 12> kWritten = {"jobname",   "comment",    "admincomment", "systemcomment",
                                                       "workdir",   "submitline", "extra",        "constraints",
                                                       "container", "wckey",      "stdout",       "stderr"};
constexpr std::size_t kLineMax = 1U << 20;
constexpr std::size_t kJsonMax = std::size_t{256} << 20;
constexpr std::size_t kColumnsMax = 200;
constexpr std::int64_t kLongest_s = 3'200'000'000;

constexpr const char* kAsk =
    "write it with: sacct -a -X -D -P -o JobID,User,Account,Partition,QOS,State,Submit,Eligible,Start,End,ElapsedRaw,NNodes,"
    "NodeList,AllocTRES,ReqTRES,ConsumedEnergyRaw";

std::string_view some(std::string_view s) {
  return s == "None assigned" || s == "Unknown" || s == "None" || s == "(null)" || s == "N/A" ? std::string_view() : s;
}

}  // namespace

struct SacctReader::Guts {
  std::string file;
  const ZoneOffsets& zone;
  TakeRecord take;
  SacctCounts counts;
  std::string tail;  // of a line that is not whole yet, or all of a JSON text
  bool json = false, begun = false;
  bool started = false;  // the header was read
  std::string mark;      // between cells
  std::vector<std::int8_t> columns;
  int written_at = -1;  // the only column that users write; -1: none, -2: several
  bool has[kCols] = {};
  std::array<std::string_view, kCols> cell;
  std::uint64_t line = 0;
  JobRecord job;
  bool held = false;  // `job` waits for its steps

  void fault(SacctFault f) {
    const auto i = static_cast<std::size_t>(f);
    if (counts.faults[i]++ == 0) counts.first[i] = line;
  }
  Result<void> header(std::string_view text);
  Result<void> row(std::string_view text);
  bool split_cells(std::string_view text);
  void step(std::string_view id);
  RecordTime time_of(Col c);
  void times();
  void gpus();
  void finish_job();
};

Result<void> SacctReader::Guts::header(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const auto named = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::size_t i = 0, end = 0;
  while (i < text.size() && named(text[i])) ++i;
  end = i;
  while (end < text.size() && !named(text[end])) ++end;
  mark = text.substr(i, end - i);
  if (i == 0 || end == text.size() || mark.find(' ') != std::string::npos || mark.empty()) {
    return fail(Code::bad_input, fmt::format("{}:{}: this is no header line of `sacct -P`", file, line), kAsk);
  }
  if (mark == ",")
    return fail(Code::bad_input, fmt::format("{}:{}: cells are parted by commas, which stand in cells of sacct too", file, line),
                "let sacct print bars or tabs: -P, or -P --delimiter=$'\\t'");
  std::size_t at = 0;
  while (at <= text.size() && columns.size() < kColumnsMax) {
    const std::size_t next = std::min(text.find(mark, at), text.size());
    const std::string name = lower(text.substr(at, next - at));
    const auto known = std::find(kNames.begin(), kNames.end(), name);
    const bool twice = known != kNames.end() && has[known - kNames.begin()];
    columns.push_back(known == kNames.end() || twice ? std::int8_t{-1} : static_cast<std::int8_t>(known - kNames.begin()));
    if (columns.back() >= 0) has[columns.back()] = true;
    if (std::find(kWritten.begin(), kWritten.end(), name) != kWritten.end()) {
      written_at = written_at == -1 ? static_cast<int>(columns.size()) - 1 : -2;
      counts.names_can_forge = true;
    }
    at = next + mark.size();
  }
  // -p ends each line with a bar.
  if (text.size() >= mark.size() && text.substr(text.size() - mark.size()) == mark) columns.back() = -1;
  for (const Col c : {c_start, c_node_list}) {
    if (!has[c])
      return fail(Code::bad_input, fmt::format("{}:{}: there is no column {}", file, line, c == c_start ? "Start" : "NodeList"),
                  kAsk);
  }
  if ((!has[c_id] && !has[c_id_raw]) || (!has[c_end] && !has[c_elapsed_raw] && !has[c_elapsed]))
    return fail(Code::bad_input,
                fmt::format("{}:{}: there is no column {}", file, line, has[c_id] || has[c_id_raw] ? "End" : "JobID"), kAsk);
  counts.has_eligible = has[c_eligible];
  counts.has_tres = has[c_alloc_tres] || has[c_alloc_gres] || has[c_gres_used];
  counts.has_energy = has[c_energy];
  started = true;
  return {};
}

// Into `cell`. False: the row is not counted.
bool SacctReader::Guts::split_cells(std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  const std::size_t n = columns.size();
  const auto next = [&](const char* from) -> const char* {
    const auto left = static_cast<std::size_t>(end - from);
    if (mark.size() == 1) return static_cast<const char*>(std::memchr(from, mark[0], left));
    const auto at = std::string_view(from, left).find(mark);
    return at == std::string_view::npos ? nullptr : from + at;
  };
  for (std::size_t c = 0; c < n; ++c) {
    const char* stop = p == nullptr ? nullptr : next(p);
    if (stop == nullptr && c + 1 < n) {
      fault(SacctFault::cut_row);
      return false;
    }
    if (columns[c] >= 0) cell[static_cast<std::size_t>(columns[c])] = {p, static_cast<std::size_t>((stop ? stop : end) - p)};
    p = stop == nullptr ? nullptr : stop + mark.size();
  }
  if (p == nullptr) return true;
  // More cells than columns: where users write only one of them, the rest is counted from the line's end.
  std::size_t more = 1;
  for (const char* q = next(p); q != nullptr; q = next(q + mark.size())) ++more;
  if (written_at < 0) {
    fault(SacctFault::long_row);
    return false;
  }
  fault(SacctFault::name_with_mark);
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t stop = std::min(text.find(mark, at), text.size());
    all.push_back(text.substr(at, stop - at));
    at = stop + mark.size();
  }
  const auto w = static_cast<std::size_t>(written_at);
  for (std::size_t c = 0; c < n; ++c) {
    if (columns[c] < 0) continue;
    std::string_view v = all[c <= w ? c : c + more];
    if (c == w) v = {all[w].data(), static_cast<std::size_t>(all[w + more].data() + all[w + more].size() - all[w].data())};
    cell[static_cast<std::size_t>(columns[c])] = v;
  }
  return true;
}

RecordTime SacctReader::Guts::time_of(Col c) {
  const RecordTime t = parse_record_time(cell[c], zone);
  if (t.is == TimeIs::none) return t;
  if (t.is == TimeIs::wrong) fault(SacctFault::wrong_time);
  if (t.is == TimeIs::ambiguous) fault(SacctFault::ambiguous_time);
  if (t.is == TimeIs::skipped) fault(SacctFault::skipped_time);
  if (t.without_zone) fault(SacctFault::time_without_zone);
  return t;
}

void SacctReader::Guts::times() {
  job.submitted = time_of(c_submit).at;
  job.eligible = time_of(c_eligible).at;
  RecordTime start = time_of(c_start), end = time_of(c_end);
  auto ran = parse_digits(cell[c_elapsed_raw]);
  if (!ran) ran = parse_span_s(cell[c_elapsed]);
  job.suspended = seconds(std::min<std::int64_t>(parse_span_s(cell[c_suspended]).value_or(0), kLongest_s));
  if (start.at.ns != 0 && end.at.ns != 0 && (start.is == TimeIs::ambiguous || end.is == TimeIs::ambiguous)) {
    // How long it ran says which of both it was.
    const Time starts[] = {start.at, start.at + start.second}, ends[] = {end.at, end.at + end.second};
    bool found = false;
    for (int i = 0; i < 4 && ran && !found; ++i) {
      if (*ran > kLongest_s || ends[i & 1] - starts[i >> 1] != seconds(*ran) + job.suspended) continue;
      start.at = starts[i >> 1];
      end.at = ends[i & 1];
      found = true;
    }
    if (!found && end.at < start.at) end.at = ends[1];
  }
  job.started = start.at;
  job.ended = end.at;
  if (const auto odd = complete_times(job, ran)) fault(*odd);
}

void SacctReader::Guts::gpus() {
  job.gpus_milli.reset();
  job.gpus_requested = false;
  job.gpu_type.clear();
  const auto believe = [&](const GresGpus& g, bool per_node) {
    if (g.wrong) fault(SacctFault::wrong_gpus);
    if (g.milli == 0 && g.shards > 0) {
      fault(SacctFault::shards);
      return;
    }
    if (g.milli == 0 && g.wrong) return;  // not said, which is not the same as none
    job.gpus_milli = g.milli * (per_node ? std::max<std::int64_t>(1, job.nodes) : 1);
    job.gpu_type = g.type;
  };
  const std::string_view given = !some(cell[c_alloc_tres]).empty()   ? cell[c_alloc_tres]
                                 : !some(cell[c_alloc_gres]).empty() ? cell[c_alloc_gres]
                                                                     : some(cell[c_gres_used]);
  if (!given.empty()) {
    const GresGpus g = parse_gres(given);
    believe(g, g.per_node);
    // It asked for GPUs and was given none, as far as is told: they are not accounted for here.
    if (job.started.ns != 0 && g.milli == 0 && g.shards == 0 && parse_gres(cell[c_req_tres]).milli > 0) job.gpus_milli.reset();
    return;
  }
  if (job.started.ns != 0) return;
  const bool old = some(cell[c_req_tres]).empty();
  const std::string_view asked = old ? some(cell[c_req_gres]) : cell[c_req_tres];
  if (asked.empty()) return;
  believe(parse_gres(asked), old);
  job.gpus_requested = job.gpus_milli.has_value();
}

void SacctReader::Guts::step(std::string_view id) {
  ++counts.steps;
  if (!held || id != job.id.text) return;
  if (const auto e = parse_record_energy(cell[c_energy]); e && counts.has_energy) {
    // Steps of one time are measured by the same meters: the largest is the job's.
    if (!job.energy_j || *e > *job.energy_j) job.energy_j = e;
  }
  if (job.gpus_milli || job.started.ns == 0) return;
  const GresGpus g = parse_gres(cell[c_alloc_tres]);
  if (g.milli <= 0) return;
  job.gpus_milli = g.milli;
  job.gpu_type = g.type;
}

void SacctReader::Guts::finish_job() {
  if (!held) return;
  held = false;
  ++counts.jobs;
  if (job.gpus_milli.value_or(0) > 0 && job.started.ns != 0) ++counts.with_gpus;
  take(job);
}

Result<void> SacctReader::Guts::row(std::string_view text) {
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (text.empty() || (!started && text.front() == '#')) return {};
  if (!started) return header(text);
  ++counts.rows;
  if (!split_cells(text)) return {};
  std::string_view id = has[c_id] ? cell[c_id] : cell[c_id_raw];
  const auto dot = id.find('.');
  if (dot != std::string_view::npos) {
    step(id.substr(0, dot));
    return {};
  }
  finish_job();
  job.line = line;
  if (!parse_record_id(id, job.id)) {
    fault(SacctFault::no_job_number);
    return {};
  }
  job.cluster.assign(cell[c_cluster]);
  job.name.assign(cell[c_name]);
  job.user.assign(cell[c_user]);
  job.account.assign(some(cell[c_account]));
  job.partition.assign(cell[c_partition]);
  job.qos.assign(some(cell[c_qos]));
  job.node_list.assign(some(cell[c_node_list]));
  job.nodes = static_cast<std::uint32_t>(
      std::min<std::int64_t>(parse_digits(has[c_alloc_nodes] ? cell[c_alloc_nodes] : cell[c_nodes]).value_or(0), 10'000'000));
  job.id.restarts = static_cast<std::uint32_t>(std::min<std::int64_t>(parse_digits(cell[c_restarts]).value_or(0), 1'000'000));
  job.state = parse_record_state(cell[c_state]);
  if (job.state == RecordState::unknown && has[c_state]) fault(SacctFault::unknown_state);
  times();
  gpus();
  job.energy_j = parse_record_energy(cell[c_energy]);
  if (!job.energy_j && !cell[c_energy].empty() && job.started.ns != 0) fault(SacctFault::wrong_energy);
  held = true;
  return {};
}

SacctReader::SacctReader(std::string file, const ZoneOffsets& zone, TakeRecord take)
    : guts_(new Guts{.file = std::move(file), .zone = zone, .take = std::move(take)}) {
  guts_->job.file = guts_->file;
}
SacctReader::~SacctReader() = default;

Result<void> SacctReader::feed(std::string_view bytes) {
  Guts& g = *guts_;
  if (!g.begun) {
    const auto at = bytes.find_first_not_of(" \t\r\n");
    g.begun = at != std::string_view::npos;
    g.json = g.begun && bytes[at] == '{';
  }
  if (g.json) {
    if (g.tail.size() + bytes.size() > kJsonMax)
      return fail(Code::bad_input, fmt::format("{}: more than 256 MiB of JSON", g.file), kAsk);
    g.tail += bytes;
    return {};
  }
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) {
      if (g.tail.size() + bytes.size() > kLineMax)
        return fail(Code::bad_input, fmt::format("{}:{}: a line of more than a MiB", g.file, g.line + 1), kAsk);
      g.tail += bytes;
      return {};
    }
    ++g.line;
    Result<void> taken;
    if (g.tail.empty()) {
      taken = g.row(bytes.substr(0, end));
    } else {
      g.tail += bytes.substr(0, end);
      taken = g.row(g.tail);
      g.tail.clear();
    }
    if (!taken) return taken;
    bytes.remove_prefix(end + 1);
  }
  return {};
}

Result<SacctCounts> SacctReader::finish() {
  Guts& g = *guts_;
  if (g.json) {
    const auto read = read_sacct_json(g.tail, g.file, g.take, g.counts);
    if (!read) return tl::unexpected(read.error());
    return g.counts;
  }
  if (!g.tail.empty()) {
    ++g.line;
    const std::string last = std::move(g.tail);
    if (auto r = g.row(last); !r) return tl::unexpected(r.error());
    if (g.counts.rows > 0) g.fault(SacctFault::cut_end);
  }
  g.finish_job();
  if (!g.started) return fail(Code::bad_input, fmt::format("{}: the file is empty", g.file), kAsk);
  return g.counts;
}

Result<SacctFile> parse_sacct_file(std::string_view text, std::string_view file, const ZoneOffsets& zone) {
  SacctFile out;
  SacctReader reader(std::string(file), zone, [&](const JobRecord& r) { out.jobs.push_back(r); });
  if (auto r = reader.feed(text); !r) return tl::unexpected(r.error());
  auto counts = reader.finish();
  if (!counts) return tl::unexpected(counts.error());
  out.counts = *counts;
  return out;
}

}  // namespace muster
