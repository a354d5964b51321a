#include "ingest/nccl_tests.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/json.h"
#include "ingest/nccl_words.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kLineMax = 8192, kWordsMax = 64, kTextMax = 160;
constexpr std::uint64_t kRanksMax = 100'000'000;

std::string kept(std::string_view s, std::size_t most = kTextMax) { return printable(trim(s.substr(0, most))); }

std::vector<std::string_view> words_of(std::string_view s) {
  std::vector<std::string_view> out;
  for (std::size_t at = s.find_first_not_of(" \t\r"); at != npos && out.size() < kWordsMax;) {
    const std::size_t end = std::min(s.find_first_of(" \t\r", at), s.size());
    out.push_back(s.substr(at, end - at));
    at = s.find_first_not_of(" \t\r", end);
  }
  return out;
}

// Number formats that nccl-tests and rccl-tests name.
bool is_type(std::string_view s) {
  constexpr std::array<std::string_view, 18> kTypes = {"int8",   "uint8",  "int32",      "uint32",     "int64",    "uint64",
                                                       "half",   "float",  "double",     "bfloat16",   "fp8_e4m3", "fp8_e5m2",
                                                       "f8e4m3", "f8e5m2", "float8e4m3", "float8e5m2", "char",     "float16"};
  return std::find(kTypes.begin(), kTypes.end(), s) != kTypes.end();
}

bool is_measure(std::string_view s) {
  return s == "N/A" || s == "nan" || s == "inf" || s == "-nan" || parse_double(s).has_value();
}

// "time" of a row may be "1.6e+07" where it is long; what is no number counts as none.
double number_or_zero(std::string_view s) {
  const auto v = parse_double(s);
  return v && *v >= 0 && *v < 1e18 ? *v : 0;
}

// Columns of a table by the words of its header: what a row has behind its number format.
struct Columns {
  bool redop = false, root = false, cpu = false, timestamp = false;
  std::vector<std::string> measures;  // "time", "algbw", "busbw", "wrong", ... of both halves

  static Columns usual() {
    Columns c;
    c.redop = c.root = true;
    c.measures = {"time", "algbw", "busbw", "wrong", "time", "algbw", "busbw", "wrong"};
    return c;
  }
};

std::optional<Columns> columns_of(const std::vector<std::string_view>& words) {
  const auto size = std::find(words.begin(), words.end(), "size");
  if (size == words.end() || std::find(size, words.end(), "busbw") == words.end()) return {};
  Columns c;
  for (auto it = size + 1; it != words.end(); ++it) {
    if (*it == "count" || *it == "type") continue;
    if (*it == "redop") {
      c.redop = true;
    } else if (*it == "root") {
      c.root = true;
    } else if (*it == "timestamp") {
      c.timestamp = true;
    } else {
      const bool cpu = *it == "cputime";
      c.cpu = c.cpu || cpu;
      // "error" of old versions is how far values are off, which rounding makes more than nothing: no count of wrong ones.
      c.measures.push_back(cpu ? "time" : *it == "#wrong" ? "wrong" : kept(*it, 16));
    }
  }
  return c;
}

void read_measures(const Columns& c, const std::vector<std::string>& values, NcclTestRow& row) {
  std::optional<NcclTestTiming>* half = nullptr;
  for (std::size_t i = 0; i < c.measures.size() && i < values.size(); ++i) {
    const std::string& what = c.measures[i];
    if (what == "time") {
      half = half == nullptr ? &row.out : &row.in;
      *half = NcclTestTiming{};
      (*half)->time_us = number_or_zero(values[i]);
    }
    if (half == nullptr) continue;
    if (what == "algbw") (*half)->alg_gb_s = number_or_zero(values[i]);
    if (what == "busbw") (*half)->bus_gb_s = number_or_zero(values[i]);
    if (what == "wrong" && parse_double(values[i])) (*half)->wrong = number_or_zero(values[i]);
  }
}

// The ratio of bus to algorithm bandwidth, where both are large enough to tell.
std::optional<double> bus_ratio(const NcclTestRun& run) {
  const NcclTestTiming* best = nullptr;
  for (const NcclTestRow& r : run.rows) {
    const NcclTestTiming* t = r.best();
    if (t != nullptr && t->alg_gb_s >= 1 && (best == nullptr || t->alg_gb_s > best->alg_gb_s)) best = t;
  }
  if (best == nullptr) return {};
  return best->bus_gb_s / best->alg_gb_s;
}

bool near(double x, double y) { return x > y * 0.985 && x < y * 1.015; }

struct OpGuess {
  std::vector<Collective> could_be;
};

// By what its rows have: an operator, a root, and how bus and algorithm bandwidth go together.
OpGuess guess_op(const NcclTestRun& run, bool redop_column) {
  const bool redop = std::any_of(run.rows.begin(), run.rows.end(), [](const NcclTestRow& r) { return !r.redop.empty(); });
  const bool root = std::any_of(run.rows.begin(), run.rows.end(), [](const NcclTestRow& r) { return r.root >= 0; });
  const auto ratio = bus_ratio(run);
  if (root) return {{redop ? Collective::reduce : Collective::broadcast}};
  if (!ratio) return {};
  if (redop && *ratio > 1.015) return {{Collective::all_reduce}};
  if (redop && near(*ratio, 1)) {
    // Of two, all-reduce has it too; of very many, reduce-scatter.
    if (run.ranks == 2) return {{Collective::all_reduce, Collective::send_recv}};
    return {run.ranks > 60 ? std::vector{Collective::send_recv, Collective::reduce_scatter} : std::vector{Collective::send_recv}};
  }
  if (redop) return {{Collective::reduce_scatter}};
  if (*ratio >= 1.015) return {};
  // Old versions print an empty operator with all-to-all, and no such column with all-gather.
  const bool empty_operator = redop_column && std::none_of(run.rows.begin(), run.rows.end(),
                                                           [](const NcclTestRow& r) { return r.root != -1 || !r.redop.empty(); });
  return {empty_operator ? std::vector{Collective::all_to_all, Collective::all_gather}
                         : std::vector{Collective::all_gather, Collective::all_to_all}};
}

std::optional<Collective> op_in_name(std::string_view file) {
  const std::size_t slash = file.find_last_of('/');
  std::string plain;
  for (const char c : lower(slash == npos ? file : file.substr(slash + 1))) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
  }
  // Longer names first: "reduce" is in three of them.
  constexpr std::array<std::pair<std::string_view, Collective>, 8> kNames = {{{"allreduce", Collective::all_reduce},
                                                                              {"reducescatter", Collective::reduce_scatter},
                                                                              {"allgather", Collective::all_gather},
                                                                              {"alltoall", Collective::all_to_all},
                                                                              {"broadcast", Collective::broadcast},
                                                                              {"bcast", Collective::broadcast},
                                                                              {"sendrecv", Collective::send_recv},
                                                                              {"reduce", Collective::reduce}}};
  for (const auto& [word, op] : kNames) {
    if (plain.find(word) != std::string::npos) return op;
  }
  return {};
}

void settle_op(NcclTestRun& run, bool sure_columns, bool redop_column, std::string_view file) {
  if (!run.program.empty()) {
    run.op = collective_of(run.program);
    run.op_by = "its program";
    return;
  }
  const OpGuess g = guess_op(run, redop_column);
  const auto named = op_in_name(file);
  if (g.could_be.size() == 1 || (!g.could_be.empty() && sure_columns)) {
    run.op = g.could_be.front();
    run.op_by = "its columns";
  } else if (named && (g.could_be.empty() || std::find(g.could_be.begin(), g.could_be.end(), *named) != g.could_be.end())) {
    run.op = named;
    run.op_by = "the file's name";
  }
}

// How many ranks, where no line names them: what the ratio says, which is exact enough up to a few hundred.
void settle_ranks(NcclTestRun& run, std::uint64_t threads_by_gpus) {
  std::map<std::string, std::uint32_t> hosts, models;
  for (const NcclTestRank& m : run.members) {
    if (m.group != run.members.front().group) continue;
    ++hosts[m.host];
    ++models[m.gpu];
    ++run.ranks;
  }
  run.nodes = static_cast<std::uint32_t>(hosts.size());
  for (const auto& [host, n] : hosts) run.per_node = std::max(run.per_node, n);
  std::uint32_t most = 0;
  for (const auto& [model, n] : models) {
    if (n > most) run.gpu = model;
    most = std::max(most, n);
  }
  if (run.ranks != 0) return;
  const auto ratio = bus_ratio(run);
  if (ratio && *ratio > 1.015 && *ratio < 1.996) {
    run.ranks = static_cast<std::uint32_t>(2 / (2 - *ratio) + 0.5);
  } else if (ratio && *ratio > 0.45 && *ratio < 0.985) {
    run.ranks = static_cast<std::uint32_t>(1 / (1 - *ratio) + 0.5);
  } else if (threads_by_gpus > 1 && threads_by_gpus <= kRanksMax) {
    run.ranks = static_cast<std::uint32_t>(threads_by_gpus);
  }
}

class TextReader {
 public:
  TextReader(NcclTestLog& out, std::string_view file) : out_(out), file_(file) {}

  void line(std::string_view raw) {
    ++line_;
    raw = raw.substr(0, kLineMax);
    std::string clean;
    if (raw.find('\x1b') != npos) {
      clean = without_escapes(raw);
      raw = clean;
    }
    const std::string_view s = behind_launcher(raw);
    const std::size_t nccl = std::min(s.find(" NCCL INFO "), s.find(" NCCL WARN "));
    program_words(s);
    if (const std::size_t hash = s.find('#'); hash != npos && nccl == npos && comment(s.substr(hash))) return;
    row_words(nccl == npos ? s : before_speaker(s.substr(0, nccl)), nccl == npos);
  }

  void finish() {
    end_run();
    if (!pending_.empty()) ++out_.torn;
    pending_.clear();
  }

 private:
  // What stands before "host:pid:tid [gpu]".
  static std::string_view before_speaker(std::string_view s) {
    const std::size_t open = s.rfind('[');
    if (open == npos) return {};
    const std::size_t end = s.substr(0, open).find_last_not_of(' ');
    const std::size_t from = end == npos ? npos : s.substr(0, end).find_last_of(' ');
    return from == npos ? std::string_view{} : s.substr(0, from);
  }

  // "# Collective test starting: all_reduce_perf", or a command line with it.
  void program_words(std::string_view s) {
    const std::size_t at = s.find("_perf");
    if (at == npos || s.find("test concluded") != npos) return;
    if (at + 5 < s.size() && (s[at + 5] == '_' || (s[at + 5] >= 'a' && s[at + 5] <= 'z'))) return;
    std::size_t from = at;
    while (from > 0 && ((s[from - 1] >= 'a' && s[from - 1] <= 'z') || s[from - 1] == '_')) --from;
    const std::string name = kept(s.substr(from, at + 5 - from), 48);
    if (collective_of(name) || name == "gather_perf" || name == "scatter_perf" || name == "hypercube_perf" ||
        name == "alltoallv_perf")
      program_ = name;
  }

  bool comment(std::string_view s) {
    const auto words = words_of(s.substr(1));
    if (s.find("nThread ") != npos && s.find("minBytes ") != npos) {
      end_run();
      threads_by_gpus_ = uint_after(s, "nThread ", 4096).value_or(1) * uint_after(s, "nGpus ", 4096).value_or(1);
      begin_ = line_;
      return true;
    }
    if (!words.empty() && words[0] == "Rank") {
      rank_words(s);
      return true;
    }
    if (auto c = columns_of(words)) {
      // Runs that share their head print their table anew.
      if (!run_.rows.empty()) end_run();
      columns_ = std::move(*c);
      header_ = true;
      return true;
    }
    if (s.find("Out of bounds values") != npos) {
      run_.out_of_bounds = leading_uint(trim(after(s, ":")));
      return true;
    }
    if (s.find("Avg bus bandwidth") != npos) {
      if (const auto v = leading_double(trim(after(s, ":")))) run_.average_bus_gb_s = *v;
      return true;
    }
    return words.empty() || s.starts_with("# ");
  }

  // "#  Rank  0 Group  0 Pid   6899 on node7 device  0 [0000:04:00] NVIDIA H100 80GB HBM3"
  void rank_words(std::string_view s) {
    if (!run_.rows.empty()) end_run();
    const auto words = words_of(s.substr(1));
    const auto on = std::find(words.begin(), words.end(), "on");
    if (words.size() < 2 || on == words.end() || on + 1 == words.end()) return;
    const auto rank = parse_uint(words[1]);
    if (!rank || *rank > kRanksMax) return;
    NcclTestRank r;
    r.rank = static_cast<std::uint32_t>(*rank);
    if (words.size() > 3 && words[2] == "Group")
      r.group = static_cast<std::uint32_t>(leading_uint(words[3], kRanksMax).value_or(0));
    r.host = kept(on[1], 120);
    const std::size_t close = s.find(']');
    if (close != npos) r.gpu = kept(s.substr(close + 1), 80);
    if (members_ < kNcclTestRanksMax) {
      run_.members.push_back(std::move(r));
      ++members_;
    } else {
      ++out_.left_out;
    }
  }

  // Where a row begins among the words: size, count, number format; npos: nowhere.
  static std::size_t row_at(const std::vector<std::string_view>& words) {
    for (std::size_t i = 0; i + 2 < words.size() && i < 8; ++i) {
      if (is_type(words[i + 2]) && parse_uint(words[i]) && parse_uint(words[i + 1])) return i;
    }
    return npos;
  }

  // NCCL writes between a row's beginning and its end, so a row may go on in a later line.
  void row_words(std::string_view s, bool alone) {
    auto words = words_of(s);
    const std::size_t at = row_at(words);
    if (at != npos) {
      if (!pending_.empty()) ++out_.torn;
      pending_.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
      row_line_ = line_;
    } else if (!pending_.empty() && alone && !words.empty() && pending_.size() + words.size() <= kWordsMax) {
      const bool goes_on = std::all_of(words.begin(), words.end(), [](std::string_view w) { return is_measure(w); });
      if (!goes_on) return;
      pending_.insert(pending_.end(), words.begin(), words.end());
    } else {
      return;
    }
    try_row();
  }

  void try_row() {
    const Columns c = header_ ? columns_ : Columns::usual();
    const std::size_t behind = c.measures.size() + (c.timestamp ? 2 : 0), texts = (c.redop ? 1u : 0u) + (c.root ? 1u : 0u);
    if (pending_.size() < 3 + behind || pending_.size() > 3 + behind + texts) return;
    NcclTestRow row;
    row.bytes = static_cast<double>(parse_uint(pending_[0]).value_or(0));
    row.count = parse_uint(pending_[1]).value_or(0);
    row.type = kept(pending_[2], 16);
    row.line = row_line_;
    const std::size_t first = pending_.size() - behind;
    for (std::size_t i = 3; i < first; ++i) {
      if (const auto n = parse_int(pending_[i])) {
        row.root = *n >= 0 && *n <= INT32_MAX ? static_cast<int>(*n) : -1;
      } else if (pending_[i] != "none") {
        row.redop = kept(pending_[i], 16);
      }
    }
    if (c.redop && first < 3 + texts) blank_operator_ = true;
    read_measures(c, {pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end()}, row);
    pending_.clear();
    if (begin_ == 0) begin_ = row_line_;
    if (run_.rows.empty()) run_.program = std::exchange(program_, {});
    if (rows_ < kNcclTestRowsMax) {
      run_.rows.push_back(std::move(row));
      ++rows_;
    } else {
      ++out_.left_out;
    }
  }

  void end_run() {
    if (!run_.rows.empty()) {
      run_.line = begin_;
      settle_ranks(run_, threads_by_gpus_);
      settle_op(run_, header_ && (blank_operator_ || !columns_.redop), columns_.redop, file_);
      if (out_.runs.size() < kNcclTestRunsMax) {
        out_.runs.push_back(std::move(run_));
      } else {
        ++out_.left_out;
      }
      run_ = {};
      begin_ = 0;
    } else if (run_.members.empty()) {
      run_ = {};
    }
    blank_operator_ = false;
  }

  NcclTestLog& out_;
  std::string_view file_;
  std::uint32_t line_ = 0, begin_ = 0, row_line_ = 0;
  std::string program_;
  NcclTestRun run_;
  Columns columns_;
  bool header_ = false, blank_operator_ = false;
  std::vector<std::string> pending_;
  std::uint64_t threads_by_gpus_ = 1;
  std::size_t rows_ = 0, members_ = 0;
};

// "algBw", "alg_bw", "algbw" as one.
std::string plain_key(std::string_view key) {
  std::string out;
  for (const char c : lower(key)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

// Numbers stand as texts in some.
std::optional<double> number_of(const Value* v) {
  double d = 0;
  if (v == nullptr) return {};
  if (v->number(d)) return d;
  return v->string() != nullptr ? parse_double(trim(*v->string())) : std::nullopt;
}

std::string text_of(const Value* v, std::size_t most = kTextMax) {
  return v != nullptr && v->string() != nullptr ? kept(*v->string(), most) : std::string();
}

std::uint32_t count_of(const Value* v) {
  const auto n = number_of(v);
  return n && *n >= 0 && *n <= static_cast<double>(kRanksMax) ? static_cast<std::uint32_t>(*n) : 0;
}

// With `each` what it says of single iterations.
std::optional<NcclTestTiming> timing_of(const Value* v, const Value* each) {
  if (v == nullptr || v->object() == nullptr) return {};
  NcclTestTiming t;
  if (each != nullptr) t.median_us = std::max(0.0, number_of(each->find("p50_us")).value_or(0));
  const Value* time = v->find("time");
  t.time_us = number_of(time != nullptr ? time : v->find("cpu_time")).value_or(0);
  t.alg_gb_s = number_of(v->find("alg_bw")).value_or(0);
  t.bus_gb_s = number_of(v->find("bus_bw")).value_or(0);
  t.wrong = number_of(v->find("nwrong"));
  return t;
}

// What it was started with: of the environment only what is NCCL's, since the rest may hold secrets.
void read_start(const Value& v, NcclTestRun& run) {
  const Value* args = v.find("args");
  const Value::Array& words = args != nullptr && args->array() != nullptr ? *args->array() : Value::Array{};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string flag = text_of(&words[i], 32);
    if (flag == "-R" || flag == "--local_register") run.registered = text_of(&words[i + 1], 8) != "0";
  }
  const Value* env = v.find("env");
  for (const Value& e : env != nullptr && env->array() != nullptr ? *env->array() : Value::Array{}) {
    const std::string pair = text_of(&e, 512);
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || run.settings.size() >= 256) continue;
    if (pair.starts_with("NCCL_") || pair.starts_with("RCCL_"))
      run.settings.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
}

// nccl-tests -J: one object with the arguments, the devices of each process and the results.
void read_object(const Value& v, NcclTestLog& out, std::string_view file) {
  NcclTestRun run;
  if (const Value* args = v.find("args"); args != nullptr && args->array() != nullptr && !args->array()->empty()) {
    const std::string program = text_of(&args->array()->front(), 1024);
    run.program = program.substr(program.find_last_of('/') + 1).substr(0, 48);
    if (const std::size_t at = run.program.find("_perf"); at != std::string::npos) run.program.resize(at + 5);
  }
  read_start(v, run);
  std::uint64_t each = 1;
  if (const Value* config = v.find("config")) {
    each = std::uint64_t{std::clamp(count_of(config->find("nthreads")), 1u, 4096u)} *
           std::clamp(count_of(config->find("ngpus")), 1u, 4096u);
    const Value* devices = config->find("devices");
    for (const Value& d : devices != nullptr && devices->array() != nullptr ? *devices->array() : Value::Array{}) {
      // Of a process with several GPUs its first alone is named.
      for (std::uint64_t i = 0; i < each && run.members.size() < kNcclTestRanksMax; ++i) {
        run.members.push_back({count_of(d.find("rank")) + static_cast<std::uint32_t>(i), count_of(d.find("group")),
                               text_of(d.find("hostname"), 120), text_of(d.find("device_info"), 80)});
      }
    }
  }
  for (const Value& r : *v.find("results")->array()) {
    if (run.rows.size() >= kNcclTestRowsMax) {
      ++out.left_out;
      continue;
    }
    NcclTestRow row;
    row.bytes = std::max(0.0, number_of(r.find("size")).value_or(0));
    row.count = static_cast<std::uint64_t>(std::clamp(number_of(r.find("count")).value_or(0), 0.0, 1e18));
    row.type = text_of(r.find("type"), 16);
    row.redop = text_of(r.find("redop"), 16);
    if (row.redop == "none") row.redop.clear();
    const double root = number_of(r.find("root")).value_or(-1);
    row.root = root >= 0 && root < 1e9 ? static_cast<int>(root) : -1;
    row.out = timing_of(r.find("out_of_place"), r.find("out_of_place_per_iter"));
    row.in = timing_of(r.find("in_place"), r.find("in_place_per_iter"));
    if (row.out || row.in) run.rows.push_back(std::move(row));
  }
  if (const Value* b = v.find("out_of_bounds")) {
    if (const auto n = number_of(b->find("count")); n && *n >= 0 && *n < 1e18) run.out_of_bounds = static_cast<std::uint64_t>(*n);
  }
  if (const Value* a = v.find("average_bus_bandwidth")) run.average_bus_gb_s = number_of(a->find("bandwidth"));
  settle_ranks(run, each);
  settle_op(run, false, true, file);
  if (!run.rows.empty()) out.runs.push_back(std::move(run));
}

// rccl-tests: a record for each size and half. Those of one operation and so many ranks are a run.
class Records {
 public:
  Records(NcclTestLog& out, std::string_view file) : out_(out), file_(file) {}

  using Get = std::map<std::string, std::string>;
  void record(const Get& r, std::uint32_t line) {
    const auto get = [&](const char* key) {
      const auto it = r.find(key);
      return it == r.end() ? std::string() : it->second;
    };
    const auto bytes = parse_double(get("size"));
    if (!bytes || *bytes < 0 || rows_ >= kNcclTestRowsMax) {
      ++out_.left_out;
      return;
    }
    ++rows_;
    NcclTestTiming t;
    t.time_us = number_or_zero(get("time"));
    t.alg_gb_s = number_or_zero(get("algbw"));
    t.bus_gb_s = number_or_zero(get("busbw"));
    if (const auto wrong = parse_double(get("wrong"))) t.wrong = *wrong;
    const std::string name = kept(get("name"), 48), key = fmt::format("{} {}", name, get("ranks"));
    const auto found = index_.find(key);
    if (found == index_.end() && out_.runs.size() >= kNcclTestRunsMax) {
      ++out_.left_out;
      return;
    }
    if (found == index_.end()) {
      index_[key] = out_.runs.size();
      NcclTestRun run;
      run.program = name;
      run.ranks = static_cast<std::uint32_t>(leading_uint(get("ranks"), kRanksMax).value_or(0));
      run.nodes = static_cast<std::uint32_t>(leading_uint(get("nodes"), kRanksMax).value_or(0));
      run.per_node = static_cast<std::uint32_t>(leading_uint(get("rankspernode"), kRanksMax).value_or(0));
      run.line = line;
      out_.runs.push_back(std::move(run));
    }
    NcclTestRun& run = out_.runs[index_[key]];
    const std::string in = get("inplace");
    const bool in_place = in == "1" || in == "true";
    // The other half of the same size stands just before.
    if (run.rows.empty() || run.rows.back().bytes != *bytes || (in_place ? run.rows.back().in : run.rows.back().out)) {
      NcclTestRow row;
      row.bytes = *bytes;
      row.type = kept(get("type"), 16);
      row.redop = get("redop") == "none" ? "" : kept(get("redop"), 16);
      row.line = line;
      run.rows.push_back(std::move(row));
    }
    (in_place ? run.rows.back().in : run.rows.back().out) = t;
  }

  void finish() {
    for (NcclTestRun& run : out_.runs) settle_op(run, false, true, file_);
  }

 private:
  NcclTestLog& out_;
  std::string_view file_;
  std::map<std::string, std::size_t> index_;
  std::size_t rows_ = 0;
};

Result<NcclTestLog> read_json(std::string_view text, std::string_view file) {
  const auto v = parse_json(text);
  if (!v) return fail(Code::bad_input, fmt::format("{}: {}", file, v.error().what), v.error().next);
  NcclTestLog out;
  const Value* results = v->find("results");
  if (results != nullptr && results->array() != nullptr) {
    read_object(*v, out, file);
  } else if (v->array() != nullptr) {
    Records records(out, file);
    for (const Value& r : *v->array()) {
      Records::Get fields;
      for (const Value::Member& m : r.object() != nullptr ? *r.object() : Value::Object{}) {
        const auto n = number_of(&m.value);
        fields[plain_key(m.key)] = m.value.boolean() != nullptr ? (*m.value.boolean() ? "1" : "0")
                                   : n                          ? render_number(*n)
                                                                : text_of(&m.value);
      }
      records.record(fields, static_cast<std::uint32_t>(std::max(0, r.line())));
    }
    records.finish();
  }
  return out;
}

Result<NcclTestLog> read_csv(std::string_view text, std::string_view file) {
  const auto csv = parse_csv(text, file, false);
  if (!csv) return tl::unexpected<Error>(csv.error());
  NcclTestLog out;
  Records records(out, file);
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    Records::Get fields;
    for (std::size_t k = 0; k < csv->header.size(); ++k) fields[plain_key(csv->header[k])] = std::string(trim(csv->rows[i][k]));
    records.record(fields, static_cast<std::uint32_t>(std::max(0, csv->lines[i])));
  }
  records.finish();
  return out;
}

bool looks_like_csv(std::string_view text) {
  const std::string head = plain_key(text.substr(0, std::min<std::size_t>(text.find('\n'), 1024)));
  return text.substr(0, std::min<std::size_t>(text.find('\n'), 1024)).find(',') != npos &&
         head.find("size") != std::string::npos && head.find("busbw") != std::string::npos &&
         head.find("time") != std::string::npos;
}

bool looks_like_json(std::string_view text) {
  const std::string_view head = trim(text.substr(0, 65536));
  if (head.starts_with('[')) return head.find("\"busBw\"") != npos && head.find("\"size\"") != npos;
  return head.starts_with('{') && head.find("\"version\"") != npos && head.find("\"args\"") != npos &&
         (head.find("\"nccl_version\"") != npos || head.find("_perf\"") != npos);
}

}  // namespace

bool looks_like_nccl_tests(std::string_view text) {
  if (looks_like_json(text) || looks_like_csv(text)) return true;
  text = text.substr(0, 4 << 20);
  if (text.find("# nThread ") != npos && text.find(" minBytes ") != npos) return true;
  for (std::size_t at = text.find("busbw"); at != npos; at = text.find("busbw", at + 5)) {
    const std::size_t from = text.substr(0, at).rfind('\n');
    const std::string_view line = text.substr(from == npos ? 0 : from + 1, 512);
    if (const auto c = columns_of(words_of(line.substr(0, line.find('\n')))); c && line.find('#') != npos) return true;
  }
  return false;
}

Result<NcclTestLog> parse_nccl_tests(std::string_view text, std::string_view file) {
  NcclTestLog out;
  if (looks_like_json(text) || looks_like_csv(text)) {
    auto r = looks_like_json(text) ? read_json(text, file) : read_csv(text, file);
    if (!r) return r;
    out = std::move(*r);
  } else {
    TextReader r(out, file);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      r.line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    r.finish();
  }
  out.file = kept(file);
  if (out.runs.empty()) {
    return fail(Code::bad_input, fmt::format("{}: no row of nccl-tests is in it", file),
                "what all_reduce_perf and its like print, from their first line on");
  }
  return out;
}

}  // namespace muster
