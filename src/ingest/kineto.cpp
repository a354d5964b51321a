#include "ingest/kineto.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "base/text.h"
#include "ingest/json.h"
#include "ingest/kernel_names.h"
#include "ingest/kineto_values.h"

namespace muster {

using namespace kineto;  // its own pieces

namespace {

namespace od = simdjson::ondemand;

constexpr std::size_t kWindowBytes = std::size_t{256} << 10;    // parsed at a time: with its tokens, what a core has of cache
constexpr std::size_t kHeaderBytesMax = std::size_t{16} << 20;  // of a value before or after the events
constexpr std::size_t kSearchBack = std::size_t{1} << 20;

enum class Kind : std::uint8_t { unknown, other, kernel, copy, fill, call, mark, op };

constexpr std::size_t kOpsMax = 4'000'000;  // operators kept of one trace
constexpr std::size_t kMarksMax = 1'000'000;
constexpr std::size_t kInputsMax = 200'000;  // shapes that differ
constexpr std::size_t kInputBytesMax = 16'384;

// A JSON string that simdjson has found to be well formed, from its first byte: up to its closing quote.
std::string_view until_quote(const char* raw) {
  const char* at = raw;
  while (*at != '"') at += *at == '\\' ? 2 : 1;
  return {raw, static_cast<std::size_t>(at - raw)};
}
bool is(const char* raw, std::string_view word) {
  return std::memcmp(raw, word.data(), word.size()) == 0 && raw[word.size()] == '"';
}

Kind kind_of(std::string_view cat) {
  if (cat == "kernel" || cat == "Kernel") return Kind::kernel;
  if (cat == "gpu_memcpy" || cat == "Memcpy" || cat == "memcpy") return Kind::copy;
  if (cat == "gpu_memset" || cat == "Memset" || cat == "memset") return Kind::fill;
  if (cat == "cuda_runtime" || cat == "cuda_driver" || cat == "Runtime" || cat == "runtime" || cat == "hip_runtime" ||
      cat == "hip_driver" || cat == "driver")
    return Kind::call;
  if (cat == "user_annotation") return Kind::mark;
  if (cat == "cpu_op" || cat == "Operator" || cat == "operator") return Kind::op;
  return Kind::other;
}

// Operators that launch nothing, and are half of what a profile holds.
bool launches_nothing(std::string_view op) {
  constexpr std::string_view kViews[] = {
      "aten::empty",        "aten::view",          "aten::as_strided",  "aten::t",         "aten::transpose", "aten::detach",
      "aten::reshape",      "aten::expand",        "aten::select",      "aten::slice",     "detach",          "aten::empty_like",
      "aten::resize_",      "aten::unsqueeze",     "aten::squeeze",     "aten::permute",   "aten::narrow",    "aten::alias",
      "aten::_unsafe_view", "aten::empty_strided", "aten::result_type", "aten::is_nonzero"};
  return op.starts_with("autograd::engine::") || std::find(std::begin(kViews), std::end(kViews), op) != std::end(kViews);
}

bool is_step(std::string_view name) { return name.starts_with("ProfilerStep"); }
// Old profiles have no category for what the program itself marks.
bool is_marked(std::string_view op) {
  return is_step(op) || op.starts_with("enumerate(DataLoader)") || op.starts_with("Optimizer.");
}

// By a quarter instead of twice as much: of profiles of gigabytes the last doubling would not fit.
template <class T>
void grow(std::vector<T>& all) {
  constexpr std::size_t kLarge = 1'000'000;
  if (all.size() == all.capacity() && all.size() >= kLarge) all.reserve(all.size() / 4 * 5);
}

struct Sizes {
  std::size_t gpu, calls, steps, marks, ops, exchanges;
  std::uint64_t events, host_events, damaged, left_out;
};

// The members of an event that are wanted, as they are written.
struct Fields {
  Kind kind = Kind::unknown;
  std::string_view name, ts, dur, pid, tid;
  std::uint64_t correlation = kNoCorrelation, stream = kNoCorrelation, device = kNoCorrelation;
  std::uint64_t external = kNone, bytes = 0;
  std::string_view dims, types, values;
  std::string_view grid, block, registers, shared, occupancy;
  std::string_view op, group, dtype, elements_in, elements_out, ranks, seq, members;  // of a collective
};

}  // namespace

struct KinetoReader::Guts {
  enum class At : std::uint8_t { begin, key, colon, value, skipped, events, end };

  Trace trace;
  Names names{trace.names}, threads{trace.threads};
  std::string text;  // not yet read
  std::uint64_t read = 0;
  std::size_t enough = kWindowBytes;  // of text, to look for whole events in it
  At at = At::begin;
  bool bare = false;  // the file is the array of events itself
  bool seen = false;  // events have begun
  std::string key;
  Nesting skipping;
  od::parser parser;
  std::string window;
  std::vector<std::string> exchanges;  // parts of names that the user gave
  std::vector<std::uint8_t> work_of;   // by name: 0 not yet known, else GpuWork + 1
  std::unordered_map<std::string, std::uint32_t> inputs;
  std::string input_key;
  std::unordered_multimap<std::uint64_t, std::uint32_t> launches;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> asked;  // external id of an operator, and what it exchanges

  void drop(std::size_t n) {
    text.erase(0, n);
    read += n;
  }

  // False: more is needed.
  Result<bool> step(bool last);
  Result<bool> events(bool last);
  Result<bool> member(char c);
  void header(std::string_view value);
  void take(std::string_view events);
  bool take_window(std::string_view events);
  bool one(od::object object);
  bool arguments(od::object args, Fields& f);
  void keep(const Fields& f);
  void keep_gpu(const Fields& f, const Span& span);
  void keep_host(const Fields& f, const Span& span);
  std::uint32_t inputs_of(const Fields& f);
  std::uint32_t launch_of(const Fields& f);
  ExchangeAsk exchange_of(const Fields& f);
  void join_asked();

  Sizes sizes() const {
    return {trace.gpu.size(),       trace.calls.size(), trace.steps.size(), trace.marks.size(), trace.ops.size(),
            trace.exchanges.size(), trace.events,       trace.host_events,  trace.damaged,      trace.left_out};
  }
  void back_to(const Sizes& s) {
    trace.gpu.resize(s.gpu);
    trace.calls.resize(s.calls);
    trace.steps.resize(s.steps);
    trace.marks.resize(s.marks);
    trace.ops.resize(s.ops);
    trace.exchanges.resize(s.exchanges);
    while (!asked.empty() && asked.back().second >= s.exchanges) asked.pop_back();
    trace.events = s.events;
    trace.host_events = s.host_events;
    trace.damaged = s.damaged;
    trace.left_out = s.left_out;
  }
};

std::uint32_t KinetoReader::Guts::inputs_of(const Fields& f) {
  if (f.dims.empty() || f.dims.size() + f.types.size() + f.values.size() > kInputBytesMax) return kNone;
  const bool valued = f.name.find("conv") != std::string_view::npos || f.name.find("attention") != std::string_view::npos;
  input_key.assign(f.dims);
  input_key += '|';
  input_key += f.types;
  if (valued) {
    input_key += '|';
    input_key += f.values;
  }
  if (const auto it = inputs.find(input_key); it != inputs.end()) return it->second;
  if (trace.inputs.size() >= kInputsMax) return kNone;
  const auto id = static_cast<std::uint32_t>(trace.inputs.size());
  trace.inputs.push_back(read_inputs(f.dims, f.types, valued ? f.values : std::string_view()));
  inputs.emplace(input_key, id);
  return id;
}

std::uint32_t KinetoReader::Guts::launch_of(const Fields& f) {
  if (f.grid.empty()) return kNone;
  Launch l;
  l.blocks = product_of(f.grid);
  l.threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(product_of(f.block), UINT32_MAX));
  l.registers = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole_of(f.registers, 0), UINT32_MAX));
  l.shared_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole_of(f.shared, 0), UINT32_MAX));
  l.occupancy_pct = static_cast<std::uint8_t>(std::min<std::uint64_t>(whole_of(f.occupancy, 0), 100));
  const std::uint64_t hash = l.blocks * 0x9E3779B97F4A7C15ULL + (std::uint64_t{l.threads} << 40) +
                             (std::uint64_t{l.registers} << 28) + l.shared_bytes * 131 + l.occupancy_pct;
  for (auto [it, end] = launches.equal_range(hash); it != end; ++it) {
    if (trace.launches[it->second] == l) return it->second;
  }
  const auto id = static_cast<std::uint32_t>(trace.launches.size());
  trace.launches.push_back(l);
  launches.emplace(hash, id);
  return id;
}

ExchangeAsk KinetoReader::Guts::exchange_of(const Fields& f) {
  ExchangeAsk ask;
  ask.op = names.of(plain(unquoted(f.op)));
  if (!f.group.empty()) ask.group = names.of(plain(unquoted(f.group)));
  if (!f.dtype.empty()) ask.dtype = names.of(plain(unquoted(f.dtype)));
  ask.ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole_of(f.ranks, 0), 10'000'000));
  ask.in_elements = whole_of(f.elements_in, 0);
  ask.out_elements = whole_of(f.elements_out, 0);
  ask.seq = whole_of(f.seq, UINT64_MAX);
  // "[0, 8, 16]", with or without quotes; long lists are cut by the profiler.
  for (std::size_t i = 0; (i = f.members.find_first_of("0123456789", i)) != std::string_view::npos;) {
    const std::size_t end = std::min(f.members.find_first_not_of("0123456789", i), f.members.size());
    const std::uint64_t rank = whole_of(f.members.substr(i, end - i), UINT64_MAX);
    i = end;
    if (rank >= kNone) continue;
    const auto r = static_cast<std::uint32_t>(rank);
    ask.lowest = ask.lowest == kNone ? r : std::min(ask.lowest, r);
    ask.highest = ask.highest == kNone ? r : std::max(ask.highest, r);
  }
  return ask;
}

void KinetoReader::Guts::keep_host(const Fields& f, const Span& span) {
  const bool marked = f.kind == Kind::mark || is_marked(f.name);
  if (marked && is_step(f.name)) {
    trace.steps.push_back({span, names.of(plain(f.name)), threads.of(trim(f.tid))});
    return;
  }
  if (marked ? trace.marks.size() >= kMarksMax : trace.ops.size() >= kOpsMax) {
    ++trace.left_out;
    return;
  }
  const std::uint32_t name = names.of(plain(f.name)), thread = threads.of(trim(f.tid));
  if (marked) {
    trace.marks.push_back({span, name, thread});
    return;
  }
  const auto external = static_cast<std::uint32_t>(f.external);
  if (!f.op.empty() && external != kNone) {  // AMD's kernels do not say themselves what they exchange
    asked.emplace_back(external, static_cast<std::uint32_t>(trace.exchanges.size()));
    trace.exchanges.push_back(exchange_of(f));
  }
  grow(trace.ops);
  trace.ops.push_back({span, name, thread, external, inputs_of(f)});
}

void KinetoReader::Guts::keep_gpu(const Fields& f, const Span& span) {
  GpuEvent e;
  e.span = span;
  e.correlation = f.correlation;
  e.name = names.of(plain(f.name));
  e.stream = static_cast<std::uint32_t>(f.stream != kNoCorrelation ? f.stream : whole_of(f.tid, 0));
  e.device = static_cast<std::int16_t>(f.device != kNoCorrelation ? f.device : whole_of(f.pid, 0));
  e.external = static_cast<std::uint32_t>(f.external);
  e.bytes = f.bytes;
  if (f.kind != Kind::kernel) {
    e.work = f.kind == Kind::copy ? GpuWork::copy : GpuWork::fill;
    grow(trace.gpu);
    trace.gpu.push_back(e);
    return;
  }
  if (work_of.size() <= e.name) work_of.resize(e.name + 1, 0);
  std::uint8_t& known = work_of[e.name];
  if (known == 0) {
    const std::string& kernel = trace.names[e.name];
    const bool told = std::any_of(exchanges.begin(), exchanges.end(),
                                  [&](const std::string& part) { return kernel.find(part) != std::string::npos; });
    known = told || is_communication(kernel) ? 2 : 1;
  }
  e.work = known == 2 ? GpuWork::communication : GpuWork::compute;
  if (e.work == GpuWork::compute) {
    e.detail = launch_of(f);
  } else if (!f.op.empty()) {
    e.detail = static_cast<std::uint32_t>(trace.exchanges.size());
    trace.exchanges.push_back(exchange_of(f));
  }
  grow(trace.gpu);
  trace.gpu.push_back(e);
}

void KinetoReader::Guts::keep(const Fields& f) {
  Span span;
  std::int64_t length = 0;
  if (!nanoseconds_of(f.ts, span.start_ns) || (!f.dur.empty() && !nanoseconds_of(f.dur, length))) {
    ++trace.damaged;
    return;
  }
  length = std::max<std::int64_t>(0, length);  // profilers write a negative one now and then
  if (span.start_ns > INT64_MAX / 4 || span.start_ns < INT64_MIN / 4 || length > INT64_MAX / 4) {
    ++trace.damaged;
    return;
  }
  span.end_ns = span.start_ns + length;
  if (f.kind == Kind::mark || f.kind == Kind::op) {
    keep_host(f, span);
  } else if (f.kind == Kind::call) {
    grow(trace.calls);
    trace.calls.push_back({span, f.correlation, names.of(plain(f.name)), threads.of(trim(f.tid))});
  } else {
    keep_gpu(f, span);
  }
}

// False: it is not well formed.
bool KinetoReader::Guts::arguments(od::object args, Fields& f) {
  for (auto arg : args) {
    od::raw_json_string inner;
    od::value x;
    if (arg.key().get(inner) != simdjson::SUCCESS || arg.value().get(x) != simdjson::SUCCESS) return false;
    const char* a = inner.raw();
    const auto raw = [&](std::string_view& into) {
      od::array list;
      return x.get_array().get(list) != simdjson::SUCCESS || list.raw_json().get(into) == simdjson::SUCCESS;
    };
    bool ok = true;
    // Each begins with another letter or is rare: one look at the first decides most.
    switch (*a) {
      case 'c':
        if (is(a, "correlation")) f.correlation = whole_of(x.raw_json_token(), kNoCorrelation);
        break;
      case 's':
        if (is(a, "stream")) f.stream = whole_of(x.raw_json_token(), kNoCorrelation);
        if (is(a, "shared memory")) f.shared = x.raw_json_token();
        if (is(a, "seq")) f.seq = x.raw_json_token();
        break;
      case 'd':
        if (is(a, "device")) f.device = whole_of(x.raw_json_token(), kNoCorrelation);
        if (is(a, "dtype")) f.dtype = x.raw_json_token();
        break;
      case 'E':
      case 'e':
        if (is(a, "External id") || is(a, "external id")) f.external = whole_of(x.raw_json_token(), kNone);
        if (is(a, "est. achieved occupancy %")) f.occupancy = x.raw_json_token();
        break;
      case 'b':
        if (is(a, "bytes")) f.bytes = whole_of(x.raw_json_token(), 0);
        if (is(a, "block")) ok = raw(f.block);
        break;
      case 'g':
        if (is(a, "grid")) ok = raw(f.grid);
        break;
      case 'r':
        if (is(a, "registers per thread")) f.registers = x.raw_json_token();
        break;
      case 'I':
        if (is(a, "Input Dims") || is(a, "Input dims")) ok = raw(f.dims);
        if (is(a, "Input type")) ok = raw(f.types);
        if (is(a, "In msg nelems")) f.elements_in = x.raw_json_token();
        break;
      case 'O':
        if (is(a, "Out msg nelems")) f.elements_out = x.raw_json_token();
        break;
      case 'C':
        if (is(a, "Collective name")) f.op = x.raw_json_token();
        if (is(a, "Concrete Inputs")) ok = raw(f.values);
        break;
      case 'G':
        if (is(a, "Group size")) f.ranks = x.raw_json_token();
        break;
      case 'P':
        if (is(a, "Process Group Name")) f.group = x.raw_json_token();
        if (is(a, "Process Group Ranks"))
          ok = raw(f.members) && (!f.members.empty() || !(f.members = x.raw_json_token()).empty());
        break;
      case 'S':
        if (is(a, "Seq")) f.seq = x.raw_json_token();
        break;
      default: break;
    }
    if (!ok) return false;
  }
  return true;
}

// False: this is no well-formed event. Only the members that are wanted are looked at, once, in their order.
bool KinetoReader::Guts::one(od::object object) {
  Fields f;
  ++trace.events;
  const auto unwanted = [&] { return f.kind == Kind::op && launches_nothing(f.name); };
  for (auto field : object) {
    od::raw_json_string member;
    od::value v;
    if (field.key().get(member) != simdjson::SUCCESS || field.value().get(v) != simdjson::SUCCESS) return false;
    const char* k = member.raw();
    od::raw_json_string raw;
    if (is(k, "ph")) {
      if (v.get_raw_json_string().get(raw) != simdjson::SUCCESS) return false;
      if (*raw.raw() != 'X') return true;
    } else if (is(k, "cat")) {
      if (v.get_raw_json_string().get(raw) != simdjson::SUCCESS) return true;  // of another kind of event
      f.kind = kind_of(until_quote(raw.raw()));
      if (f.kind == Kind::other) return true;
      if (f.kind == Kind::op || f.kind == Kind::mark || f.kind == Kind::call) ++trace.host_events;
    } else if (is(k, "name")) {
      if (v.get_raw_json_string().get(raw) != simdjson::SUCCESS) return false;
      f.name = until_quote(raw.raw());
      if (unwanted()) return true;
    } else if (is(k, "ts")) {
      f.ts = v.raw_json_token();
    } else if (is(k, "dur")) {
      f.dur = v.raw_json_token();
    } else if (is(k, "pid")) {
      f.pid = v.raw_json_token();
    } else if (is(k, "tid")) {
      f.tid = v.raw_json_token();
    } else if (is(k, "args")) {
      od::object args;
      if (v.get_object().get(args) != simdjson::SUCCESS) continue;
      if (!arguments(args, f)) return false;
    }
  }
  if (f.kind == Kind::unknown || f.kind == Kind::other || unwanted()) return true;
  keep(f);
  return true;
}

bool KinetoReader::Guts::take_window(std::string_view events) {
  window.clear();
  window.reserve(events.size() + 2 + simdjson::SIMDJSON_PADDING);
  window += '[';
  window += events;
  window += ']';
  const Sizes before = sizes();
  od::document doc;
  od::array all;
  bool ok = parser.iterate(window.data(), window.size(), window.capacity()).get(doc) == simdjson::SUCCESS &&
            doc.get_array().get(all) == simdjson::SUCCESS;
  if (ok) {
    for (auto item : all) {
      od::object object;
      ok = item.get_object().get(object) == simdjson::SUCCESS && one(object);
      if (!ok) break;
    }
  }
  if (!ok) back_to(before);
  return ok;
}

// Whole events with commas between them. Where they are not JSON (raw control characters in names, bytes that are no UTF-8), what
// can be made of them.
void KinetoReader::Guts::take(std::string_view events) {
  if (take_window(events)) return;
  std::string clean(events);
  bool in_string = false, escaped = false;
  for (char& c : clean) {
    if (in_string && (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x80)) c = '?';
    if (escaped) {
      escaped = false;
    } else if (c == '\\' && in_string) {
      escaped = true;
    } else if (c == '"') {
      in_string = !in_string;
    }
  }
  if (take_window(clean)) return;
  std::string_view rest = clean;
  for (std::size_t next = 0; next < rest.size();) {
    next = rest.find('{', next);
    if (next == std::string_view::npos) return;
    const std::size_t end = Nesting().end(rest.substr(next));
    if (end == std::string_view::npos) {
      ++trace.damaged;
      return;
    }
    if (!take_window(rest.substr(next, end))) ++trace.damaged;
    next += end;
  }
}

// Exchanges that do not say themselves what they carry: what the operator said that launched them.
void KinetoReader::Guts::join_asked() {
  std::sort(asked.begin(), asked.end());
  for (GpuEvent& e : trace.gpu) {
    if (e.work != GpuWork::communication || e.detail != kNone || e.external == kNone) continue;
    const auto it = std::lower_bound(asked.begin(), asked.end(), std::pair{e.external, std::uint32_t{0}});
    if (it != asked.end() && it->first == e.external) e.detail = it->second;
  }
}

void KinetoReader::Guts::header(std::string_view value) {
  const auto read_value = parse_json(value);
  if (!read_value) return;
  if (key == "deviceProperties" && read_value->array() != nullptr) {
    for (const Value& d : *read_value->array()) {
      const Value* name = d.find("name");
      trace.gpus.push_back(name != nullptr && name->string() != nullptr ? *name->string() : std::string());
      const Value* units = d.find("numSms");
      const bool told = units != nullptr && units->integer() != nullptr && *units->integer() > 0 && *units->integer() < 100'000;
      trace.units.push_back(told ? static_cast<std::uint32_t>(*units->integer()) : 0);
    }
  } else if (key == "distributedInfo") {
    const auto count = [&](const char* of) -> std::optional<std::uint32_t> {
      const Value* v = read_value->find(of);
      if (v == nullptr || v->integer() == nullptr || *v->integer() < 0 || *v->integer() > 10'000'000) return {};
      return static_cast<std::uint32_t>(*v->integer());
    };
    trace.rank = count("rank");
    trace.ranks = count("world_size");
  }
}

Result<bool> KinetoReader::Guts::events(bool last) {
  std::size_t from = skip_space(text, 0);
  while (from < text.size() && text[from] == ',') from = skip_space(text, from + 1);
  drop(from);
  if (text.empty()) return false;
  if (text.front() == ']') {
    drop(1);
    at = bare ? At::end : At::key;
    return true;
  }
  if (text.size() < enough && !last) return false;
  // Events begin with their phase: where the last of them that is whole ends is told by how the next one begins. Should that be
  // wrong, what is before it does not parse, and brackets are counted instead.
  const std::size_t back = text.size() > kSearchBack ? text.size() - kSearchBack : 0;
  for (std::size_t at_phase = text.rfind("\"ph\""); at_phase != std::string::npos && at_phase > back;
       at_phase = text.rfind("\"ph\"", at_phase - 1)) {
    std::size_t i = at_phase;
    const auto before = [&](char c) {
      while (i > 0 && is_space(text[i - 1])) --i;
      if (i == 0 || text[i - 1] != c) return false;
      --i;
      return true;
    };
    if (!before('{')) continue;
    if (!before(',') || i == 0) continue;
    const std::size_t comma = i;
    if (!before('}')) continue;
    take(std::string_view(text).substr(0, comma));
    drop(comma);
    return true;
  }
  // Event by event, as far as they are whole.
  std::size_t whole = 0;
  for (std::size_t next = 0; next < text.size() && text[next] != ']';) {
    const std::size_t length = Nesting().end(std::string_view(text).substr(next));
    if (length == std::string_view::npos || length == 0) break;
    whole = next + length;
    next = skip_space(text, whole);
    while (next < text.size() && text[next] == ',') next = skip_space(text, next + 1);
  }
  if (whole > 0) {
    take(std::string_view(text).substr(0, whole));
    drop(whole);
    enough = kWindowBytes;
    return true;
  }
  if (text.size() > kKinetoEventBytesMax) {
    return fail(Code::bad_input, fmt::format("an event of more than {} MiB begins at byte {}", kKinetoEventBytesMax >> 20, read),
                "this is no profile of PyTorch, or it is damaged there");
  }
  enough = 2 * text.size();  // not to look through the same again for every piece
  return false;
}

Result<bool> KinetoReader::Guts::step(bool last) {
  if (at == At::events) return events(last);
  if (at == At::end) {
    drop(text.size());
    return false;
  }
  if (at == At::skipped) {
    const std::size_t end = skipping.end(text);
    drop(end == std::string::npos ? text.size() : end);
    if (end == std::string::npos) return false;
    at = At::key;
    return true;
  }
  constexpr std::string_view kBom = "\xef\xbb\xbf";  // may begin a file, and nothing else
  const bool first = at == At::begin && read == 0;
  if (first && !last && text.size() < kBom.size() && kBom.starts_with(text)) return false;
  std::size_t from = skip_space(text, first && text.starts_with(kBom) ? kBom.size() : 0);
  if (at == At::key) {
    while (from < text.size() && text[from] == ',') from = skip_space(text, from + 1);
  }
  drop(from);
  if (text.empty()) return false;
  const char c = text.front();
  switch (at) {
    case At::begin:
      if (c != '{' && c != '[') {
        return fail(Code::bad_input, fmt::format("byte {}: neither an object nor an array of events begins here", read),
                    "a profile as torch.profiler exports it (JSON, or that in gzip)");
      }
      bare = c == '[';
      seen = bare;
      at = bare ? At::events : At::key;
      drop(1);
      return true;
    case At::key: {
      if (c == '}') {
        at = At::end;
        return true;
      }
      const std::size_t end = c == '"' ? Nesting().end(text) : 0;
      if (c != '"' || (end == std::string::npos && text.size() > kHeaderBytesMax))
        return fail(Code::bad_input, fmt::format("byte {}: a key is expected here", read), "the file is damaged, or no JSON");
      if (end == std::string::npos) return false;
      key = text.substr(1, end - 2);
      at = At::colon;
      drop(end);
      return true;
    }
    case At::colon:
      if (c != ':') return fail(Code::bad_input, fmt::format("byte {}: a colon is expected here", read), "the file is damaged");
      drop(1);
      at = At::value;
      return true;
    default: break;
  }
  return member(c);
}

// Begins with `c`: the events, something else that is wanted, or what is skipped.
Result<bool> KinetoReader::Guts::member(char c) {
  if (key == "traceEvents" && c == '[') {
    seen = true;
    at = At::events;
    drop(1);
    return true;
  }
  if (key != "deviceProperties" && key != "distributedInfo") {
    skipping = Nesting();
    at = At::skipped;
    return true;
  }
  const std::size_t end = Nesting().end(text);
  if (end == std::string::npos) {
    if (text.size() <= kHeaderBytesMax) return false;
    skipping = Nesting();
    at = At::skipped;
    return true;
  }
  header(std::string_view(text).substr(0, end));
  drop(end);
  at = At::key;
  return true;
}

KinetoReader::KinetoReader(std::vector<std::string> exchanges) : guts_(std::make_unique<Guts>()) {
  guts_->exchanges = std::move(exchanges);
}
KinetoReader::~KinetoReader() = default;
KinetoReader::KinetoReader(KinetoReader&&) noexcept = default;
KinetoReader& KinetoReader::operator=(KinetoReader&&) noexcept = default;

Result<void> KinetoReader::feed(std::string_view text) {
  guts_->text += text;
  while (true) {
    const auto more = guts_->step(false);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
  }
}

Result<Trace> KinetoReader::finish() {
  Guts& g = *guts_;
  while (true) {
    const auto more = g.step(true);
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
  }
  g.trace.cut = g.at != Guts::At::end;
  if (!g.seen || (g.trace.events == 0 && g.trace.damaged == 0)) {
    return fail(Code::bad_input, g.seen ? "the profile has no events" : "there are no traceEvents in it",
                "a profile as torch.profiler exports it (JSON, or that in gzip)");
  }
  std::stable_sort(g.trace.steps.begin(), g.trace.steps.end(),
                   [](const Mark& x, const Mark& y) { return x.span.start_ns < y.span.start_ns; });
  g.join_asked();
  return std::move(g.trace);
}

bool looks_like_kineto(std::string_view text) {
  text = text.substr(0, 65'536);
  const std::size_t from = skip_space(text, text.starts_with("\xef\xbb\xbf") ? 3 : 0);
  if (from >= text.size()) return false;
  if (text[from] == '[') return text.find("\"ph\"") != std::string_view::npos;
  if (text[from] != '{') return false;
  for (const std::string_view key : {"\"traceEvents\"", "\"deviceProperties\"", "\"schemaVersion\"", "\"distributedInfo\"",
                                     "\"displayTimeUnit\"", "\"baseTimeNanoseconds\"", "\"ph\""}) {
    if (text.find(key) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace muster
