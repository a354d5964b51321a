#include "adapters/sqlite/nsys_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "adapters/sqlite/nsys_rows.h"
#include "base/text.h"
#include "ingest/json.h"
#include "ingest/kernel_names.h"

namespace muster::sqlite {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kDevicesMost = 64;       // that one process works with; more are damage, and stay together
constexpr std::size_t kMarksMost = 5'000'000;  // and as many operators, of one trace
constexpr std::string_view kExport = "profile with `nsys profile -t cuda,nvtx`, then `nsys export --type sqlite FILE.nsys-rep`";

// "step 12" and "step 13" are of one family, "step #".
std::string family_of(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 200)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

bool says_step(std::string_view family) {
  const std::string s = lower(family);
  for (const std::string_view other : {"optim", "zero_grad", "sched", "sub", "loader"}) {
    if (s.find(other) != std::string::npos) return false;
  }
  for (const std::string_view word : {"step", "iteration", "iter"}) {
    for (std::size_t at = s.find(word); at != std::string::npos; at = s.find(word, at + 1)) {
      const auto letter = [&](std::size_t i) { return i < s.size() && s[i] >= 'a' && s[i] <= 'z'; };
      if ((at == 0 || !letter(at - 1)) && !letter(at + word.size())) return true;
    }
  }
  return false;
}

// Of those in the order of their starts: that lie in no other.
std::vector<Range> outermost(const std::vector<Range>& of_thread) {
  std::vector<Range> out;
  for (const Range& r : of_thread) {
    if (out.empty() || r.span.start_ns >= out.back().span.end_ns) out.push_back(r);
  }
  return out;
}

bool regular(const std::vector<Range>& f) {
  if (f.size() < 3) return false;
  std::vector<std::int64_t> apart;
  std::int64_t covered = 0;
  for (std::size_t i = 1; i < f.size(); ++i) {
    apart.push_back(f[i].span.start_ns - f[i - 1].span.start_ns);
    covered += f[i - 1].span.length();
  }
  std::nth_element(apart.begin(), apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2), apart.end());
  const std::int64_t middle = apart[apart.size() / 2];
  const auto near = std::count_if(apart.begin(), apart.end(), [&](std::int64_t a) { return a >= middle / 2 && a / 2 <= middle; });
  const std::int64_t all = f.back().span.start_ns - f.front().span.start_ns;
  return near * 5 >= static_cast<std::ptrdiff_t>(apart.size()) * 4 && covered >= all / 2;
}

// The rule is in the header.
std::vector<Range> find_steps(const Process& p, const Texts& texts) {
  std::map<std::int64_t, std::vector<Range>> threads;
  for (const Range& r : p.ranges) threads[r.thread].push_back(r);
  std::map<std::int64_t, std::size_t> calls;
  for (const Call& c : p.calls) ++calls[c.thread];
  std::vector<Range> profiler, best, regulars;
  std::int64_t best_covers = 0;
  std::size_t most_calls = 0;
  std::unordered_map<std::uint32_t, std::string> family_of_name;
  for (auto& [thread, ranges] : threads) {
    std::stable_sort(ranges.begin(), ranges.end(), [](const Range& x, const Range& y) {
      return x.span.start_ns != y.span.start_ns ? x.span.start_ns < y.span.start_ns : x.span.end_ns > y.span.end_ns;
    });
    std::map<std::string, std::vector<Range>> families;
    for (const Range& r : ranges) {
      auto [it, fresh] = family_of_name.try_emplace(r.name);
      if (fresh) it->second = family_of(texts[r.name]);
      if (it->second.starts_with("ProfilerStep")) profiler.push_back(r);
      if (says_step(it->second)) families[it->second].push_back(r);
    }
    for (auto& [name, all] : families) {
      std::vector<Range> f = outermost(all);
      std::int64_t covers = 0;
      for (const Range& r : f) covers += r.span.length();
      if (f.size() < 2 || covers <= best_covers) continue;
      best_covers = covers;
      best = std::move(f);
    }
    const auto called = calls.find(thread);
    const std::size_t n = called == calls.end() ? 0 : called->second;
    if (!regulars.empty() && n <= most_calls) continue;
    std::map<std::string, std::vector<Range>> outer;
    for (const Range& r : outermost(ranges)) outer[family_of_name[r.name]].push_back(r);
    for (auto& [name, f] : outer) {
      if (!regular(f) || (n == most_calls && f.size() <= regulars.size())) continue;
      regulars = std::move(f);
      most_calls = n;
    }
  }
  return !profiler.empty() ? profiler : !best.empty() ? best : regulars;
}

// "cudaLaunchKernel_ptsz_v7000" as "cudaLaunchKernel".
std::string plain_call(std::string_view name) {
  const auto at = name.rfind("_v");
  if (at != std::string_view::npos && at + 2 < name.size() &&
      name.find_first_not_of("0123456789", at + 2) == std::string_view::npos)
    name = name.substr(0, at);
  for (const std::string_view ending : {"_ptsz", "_ptds"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return std::string(name);
}

// What PyTorch's emit_nvtx writes: "aten::addmm, seq = 12, sizes = [[1000], [32, 2048], [2048, 1000]]".
struct OperatorText {
  std::string name, sizes;
};

std::optional<OperatorText> operator_of(std::string_view text) {
  const bool numbered = text.find(", seq = ") != std::string_view::npos || text.find(", op_id = ") != std::string_view::npos ||
                        text.find(", sizes = ") != std::string_view::npos;
  if (!numbered && !text.starts_with("aten::") && !text.starts_with("c10d::")) return {};
  OperatorText out{std::string(text.substr(0, text.find(", "))), {}};
  constexpr std::string_view kSizes = "sizes = ";
  const std::size_t at = text.find(kSizes);
  if (at == std::string_view::npos) return out;
  // Brackets and numbers alone.
  const std::size_t from = at + kSizes.size();
  const std::size_t end = text.find_first_not_of("[]0123456789, ", from);
  std::string_view sizes = text.substr(from, end == std::string_view::npos ? end : end - from);
  if (const std::size_t last = sizes.rfind(']'); last != std::string_view::npos) out.sizes = sizes.substr(0, last + 1);
  return out;
}

struct Payload {
  std::uint64_t bytes = 0, communicator = 0;
  std::optional<std::uint32_t> rank, ranks;
};

// What NCCL says of a call of its own: {"NCCL communicator ID": 7, "Message size [bytes]": 1024}.
Payload payload_of(std::string_view json) {
  Payload out;
  const auto v = parse_json(json, 8);
  if (!v || v->object() == nullptr) return out;
  for (const Value::Member& m : *v->object()) {
    const std::string key = lower(m.key);
    const std::int64_t* n = m.value.integer();
    double real = 0;
    if (key.find("communicator") != std::string::npos && m.value.number(real)) {
      out.communicator = n != nullptr                ? static_cast<std::uint64_t>(*n)
                         : real > 0 && real < 1.8e19 ? static_cast<std::uint64_t>(real)
                                                     : 0;
    }
    if (n == nullptr || *n < 0) continue;
    if (key.find("message size") != std::string::npos) out.bytes = static_cast<std::uint64_t>(*n);
    if (*n > 100'000'000) continue;
    if (key == "rank") out.rank = static_cast<std::uint32_t>(*n);
    if (key == "no. of ranks" || key == "nranks" || key == "number of ranks") out.ranks = static_cast<std::uint32_t>(*n);
  }
  return out;
}

// The innermost of ranges that hold a time, of one thread; asked in the order of time.
class Enclosing {
 public:
  // `ranges` in the order of their starts.
  explicit Enclosing(const std::vector<const Range*>& ranges) : ranges_(ranges) {}

  std::size_t at(std::int64_t ns) {
    while (next_ < ranges_.size() && ranges_[next_]->span.start_ns <= ns) open_.push_back(next_++);
    while (!open_.empty() && ranges_[open_.back()]->span.end_ns < ns) open_.pop_back();
    return open_.empty() ? kNowhere : open_.back();
  }
  static constexpr std::size_t kNowhere = SIZE_MAX;

 private:
  const std::vector<const Range*>& ranges_;
  std::vector<std::size_t> open_;
  std::size_t next_ = 0;
};

class Maker {
 public:
  Maker(const NsysRows& rows, const Process& p, std::optional<std::int16_t> device) : rows_(rows), p_(p), device_(device) {}
  Trace make();

 private:
  std::uint32_t text(const std::string& t) {
    const auto [it, fresh] = texts_.try_emplace(t, static_cast<std::uint32_t>(out_.names.size()));
    if (fresh) out_.names.push_back(t);
    return it->second;
  }
  // By the number of the rows' text, so that long names are looked at once.
  std::uint32_t name(std::uint32_t i) {
    const auto [it, fresh] = names_.try_emplace(i);
    if (fresh) it->second = text(rows_.texts[i]);
    return it->second;
  }
  std::uint32_t call_name(std::uint32_t i) {
    const auto [it, fresh] = call_names_.try_emplace(i);
    if (fresh) it->second = text(plain_call(rows_.texts[i]));
    return it->second;
  }
  std::uint32_t thread(std::int64_t global) {
    const auto [it, fresh] = threads_.try_emplace(global, static_cast<std::uint32_t>(out_.threads.size()));
    if (fresh) out_.threads.push_back(global < 0 ? "" : fmt::format("{}", thread_of(global)));
    return it->second;
  }
  std::uint32_t launch(std::uint32_t i);
  void gpu();
  void calls();
  std::uint32_t inputs(const std::string& sizes);
  void ranges();
  std::uint32_t exchange(const Range& r);
  void exchanges();
  void link();

  const NsysRows& rows_;
  const Process& p_;
  std::optional<std::int16_t> device_;
  Trace out_;
  std::unordered_map<std::string, std::uint32_t> texts_, inputs_;
  std::unordered_map<std::uint32_t, std::uint32_t> names_, call_names_, launches_;
  std::map<std::int64_t, std::uint32_t> threads_;
  std::unordered_map<std::uint64_t, bool> ours_;  // correlations
  std::vector<const Range*> operators_;           // as Trace::ops
  std::map<std::uint64_t, std::uint32_t> ranks_;  // of communicators
};

std::uint32_t Maker::launch(std::uint32_t i) {
  if (i == kNone) return kNone;
  const auto [it, fresh] = launches_.try_emplace(i, static_cast<std::uint32_t>(out_.launches.size()));
  if (fresh) out_.launches.push_back(rows_.launches[i]);
  return it->second;
}

void Maker::gpu() {
  std::unordered_map<std::uint32_t, bool> exchanges;
  for (const GpuEvent& e : p_.gpu) {
    const bool here = !device_ || e.device == *device_;
    if (device_ && e.correlation != kNoCorrelation) ours_[e.correlation] |= here;
    if (!here) continue;
    GpuEvent kept = e;
    if (e.work == GpuWork::compute) {
      const auto [it, fresh] = exchanges.try_emplace(e.name);
      if (fresh) it->second = is_communication(rows_.texts[e.name]);
      if (it->second) kept.work = GpuWork::communication;
      kept.detail = it->second ? kNone : launch(e.detail);
    }
    kept.name = name(e.name);
    out_.gpu.push_back(kept);
  }
}

// Of a process with several GPUs, each trace has the calls that led to its GPU, and those that led to none.
void Maker::calls() {
  for (const Call& c : p_.calls) {
    const auto it = device_ ? ours_.find(c.correlation) : ours_.end();
    if (it == ours_.end() || it->second) out_.calls.push_back({c.span, c.correlation, call_name(c.name), thread(c.thread)});
  }
}

std::vector<std::int64_t> shape_of(const Value::Array& list) {
  std::vector<std::int64_t> out;
  for (const Value& n : list) {
    if (n.integer() != nullptr) out.push_back(*n.integer());
  }
  return out;
}

// "[[32, 8], [[4], [4]], []]": a tensor, a list of two, and what is none. Types are not told.
std::uint32_t Maker::inputs(const std::string& sizes) {
  const auto [it, fresh] = inputs_.try_emplace(sizes, kNone);
  if (!fresh) return it->second;
  const auto v = parse_json(sizes, 8);
  if (!v || v->array() == nullptr) return kNone;
  std::vector<OpInput> all;
  for (const Value& one : *v->array()) {
    OpInput& o = all.emplace_back();
    if (one.array() == nullptr || one.array()->empty()) continue;
    if (one.array()->front().array() == nullptr) {
      o.shapes.push_back(shape_of(*one.array()));
    } else {
      for (const Value& of_list : *one.array()) {
        if (of_list.array() != nullptr) o.shapes.push_back(shape_of(*of_list.array()));
      }
    }
  }
  it->second = static_cast<std::uint32_t>(out_.inputs.size());
  out_.inputs.push_back(std::move(all));
  return it->second;
}

void Maker::ranges() {
  const std::vector<Range> steps = find_steps(p_, rows_.texts);
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> are_steps;  // thread and start
  for (const Range& r : steps) {
    out_.steps.push_back({r.span, name(r.name), thread(r.thread)});
    are_steps.emplace(std::pair(r.thread, r.span.start_ns), r.name);
  }
  struct Kind {
    std::uint32_t name = kNone, inputs = kNone;
    bool op = false;
  };
  std::unordered_map<std::uint32_t, Kind> kinds;
  for (const Range& r : p_.ranges) {
    const auto step = are_steps.find({r.thread, r.span.start_ns});
    if (step != are_steps.end() && step->second == r.name) continue;
    const auto [it, fresh] = kinds.try_emplace(r.name);
    if (fresh) {
      const auto op = operator_of(rows_.texts[r.name]);
      it->second = {op ? text(op->name) : name(r.name), kNone, op.has_value()};
      if (op && !op->sizes.empty()) it->second.inputs = inputs(op->sizes);
    }
    if ((it->second.op ? out_.ops.size() : out_.marks.size()) >= kMarksMost) {
      ++out_.left_out;
    } else if (it->second.op) {
      const auto id = static_cast<std::uint32_t>(out_.ops.size());
      out_.ops.push_back({r.span, it->second.name, thread(r.thread), id, it->second.inputs});
      operators_.push_back(&r);
    } else {
      out_.marks.push_back({r.span, it->second.name, thread(r.thread)});
    }
  }
}

// "ncclAllReduce" as "allreduce", with its size in bytes: of which type its elements are, is not told.
std::uint32_t Maker::exchange(const Range& r) {
  std::string op = lower(rows_.texts[r.name]);
  if (op.starts_with("nccl")) op.erase(0, 4);
  const Payload p = r.payload == kNone ? Payload{} : payload_of(rows_.texts[r.payload]);
  ExchangeAsk e;
  e.op = text(op);
  e.dtype = text("Byte");
  if (p.communicator != 0) {
    e.group = text(fmt::format("{:x}", p.communicator));
    if (const auto n = ranks_.find(p.communicator); n != ranks_.end()) e.ranks = n->second;
  }
  e.in_elements = e.out_elements = p.bytes;
  // NCCL tells the size of one rank's piece.
  const std::uint64_t whole = e.ranks > 0 && p.bytes < UINT64_MAX / e.ranks ? p.bytes * e.ranks : 0;
  if (op == "allgather") e.out_elements = whole;
  if (op == "reducescatter") e.in_elements = whole;
  out_.exchanges.push_back(e);
  return static_cast<std::uint32_t>(out_.exchanges.size() - 1);
}

// NCCL's own ranges: who is in a communicator, and what the host asked of it.
void Maker::exchanges() {
  for (const Range& r : p_.exchanges) {
    if (r.payload == kNone) continue;
    const Payload p = payload_of(rows_.texts[r.payload]);
    if (!p.ranks) continue;
    if (p.communicator != 0) ranks_[p.communicator] = *p.ranks;
    // The largest communicator is the job's.
    if (p.rank && *p.rank<*p.ranks&& * p.ranks> out_.ranks.value_or(1)) {
      out_.rank = p.rank;
      out_.ranks = p.ranks;
    }
  }
}

// Operators and exchanges to what their host thread launched while it was in them.
void Maker::link() {
  struct Place {
    std::uint32_t op = kNone, exchange = kNone;
  };
  std::map<std::int64_t, std::vector<const Range*>> operators, asks;
  std::unordered_map<const Range*, std::uint32_t> id;
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    operators[operators_[i]->thread].push_back(operators_[i]);
    id[operators_[i]] = static_cast<std::uint32_t>(i);
  }
  for (const Range& r : p_.exchanges) asks[r.thread].push_back(&r);
  std::map<std::int64_t, std::vector<const Call*>> calls;
  for (const Call& c : p_.calls) {
    if (c.correlation != kNoCorrelation && (operators.count(c.thread) > 0 || asks.count(c.thread) > 0))
      calls[c.thread].push_back(&c);
  }
  const auto by_start = [](const auto* x, const auto* y) {
    return x->span.start_ns != y->span.start_ns ? x->span.start_ns < y->span.start_ns : x->span.end_ns > y->span.end_ns;
  };
  std::unordered_map<std::uint64_t, Place> places;
  std::unordered_map<const Range*, std::uint32_t> exchange_of;
  for (auto& [thread_id, of_thread] : calls) {
    auto &o = operators[thread_id], &a = asks[thread_id];
    std::stable_sort(of_thread.begin(), of_thread.end(), by_start);
    std::stable_sort(o.begin(), o.end(), by_start);
    std::stable_sort(a.begin(), a.end(), by_start);
    Enclosing in_op(o), in_ask(a);
    for (const Call* c : of_thread) {
      Place& p = places[c->correlation];
      if (const std::size_t i = in_op.at(c->span.start_ns); i != Enclosing::kNowhere) p.op = id[o[i]];
      if (const std::size_t i = in_ask.at(c->span.start_ns); i != Enclosing::kNowhere) {
        const auto [it, fresh] = exchange_of.try_emplace(a[i]);
        if (fresh) it->second = exchange(*a[i]);
        p.exchange = it->second;
      }
    }
  }
  for (GpuEvent& e : out_.gpu) {
    const auto it = e.correlation == kNoCorrelation ? places.end() : places.find(e.correlation);
    if (it == places.end()) continue;
    e.external = it->second.op;
    if (e.work == GpuWork::communication) e.detail = it->second.exchange;
  }
}

Trace Maker::make() {
  gpu();
  calls();
  ranges();
  exchanges();
  link();
  const auto earlier = [](const Mark& x, const Mark& y) { return x.span.start_ns < y.span.start_ns; };
  std::stable_sort(out_.steps.begin(), out_.steps.end(), earlier);
  std::stable_sort(out_.marks.begin(), out_.marks.end(), earlier);
  for (const auto& [id, gpu] : p_.gpus) {
    out_.gpus.resize(static_cast<std::size_t>(id) + 1);
    out_.units.resize(out_.gpus.size());
    out_.gpus.back() = gpu.name;
    out_.units.back() = gpu.units;
  }
  out_.host = rows_.host;
  out_.events = out_.gpu.size() + out_.calls.size() + p_.ranges.size() + p_.exchanges.size();
  out_.damaged = rows_.damaged;
  return std::move(out_);
}

std::vector<Trace> traces_of(const NsysRows& rows) {
  std::vector<Trace> out;
  for (const auto& [id, p] : rows.processes) {
    std::map<std::int16_t, std::size_t> devices;
    for (const GpuEvent& e : p.gpu) ++devices[e.device];
    if (devices.size() == 1 || devices.size() > kDevicesMost) {
      out.push_back(Maker(rows, p, {}).make());
    } else {
      for (const auto& [device, n] : devices) out.push_back(Maker(rows, p, device).make());
    }
  }
  return out;
}

}  // namespace

bool looks_like_sqlite(std::string_view bytes) { return bytes.starts_with(kMagic); }

Result<std::vector<Trace>> read_nsys_file(const std::string& path) {
  const Location at{path, {}};
  const auto named = [&](const Error& e) {
    return fail(e.code == Code::internal ? Code::corrupt : e.code, fmt::format("{}: {}", path, e.what),
                e.next.empty() ? "export it again" : e.next);
  };
  const auto there = file_exists(at);
  if (!there) return named(there.error());
  if (!*there) return fail(Code::not_found, fmt::format("{}: there is no such file", path));
  const auto size = file_size(at);
  if (!size) return named(size.error());
  const auto start = file_start(at, kMagic.size());
  if (!start) return named(start.error());
  if (!looks_like_sqlite(*start)) {
    return fail(Code::bad_input, fmt::format("{}: {}", path, *size == 0 ? "it is empty" : "this is no SQLite database"),
                std::string(kExport));
  }
  auto db = Database::open(at, Access::immutable);
  if (!db) return named(db.error());
  const auto rows = read_nsys_rows(std::move(*db), *size);
  if (!rows) return named(rows.error());
  std::vector<Trace> out = traces_of(*rows);
  if (!out.empty()) return out;
  return fail(Code::bad_input,
              rows->damaged > 0 ? fmt::format("{}: none of its {} rows of GPU work can be read", path, rows->damaged)
                                : fmt::format("{}: it holds nothing that ran on a GPU", path),
              std::string(kExport));
}

}  // namespace muster::sqlite
