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

namespace muster {
namespace {

namespace od = simdjson::ondemand;

constexpr std::size_t kWindowBytes = std::size_t{4} << 20;      // parsed at a time
constexpr std::size_t kHeaderBytesMax = std::size_t{16} << 20;  // of a value before or after the events
constexpr std::size_t kSearchBack = std::size_t{1} << 20;

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::size_t skip_space(std::string_view s, std::size_t at) {
  while (at < s.size() && is_space(s[at])) ++at;
  return at;
}

// Follows brackets and strings from one piece of text to the next.
class Nesting {
 public:
  // Where the value that was begun ends; npos: not in here.
  std::size_t end(std::string_view s) {
    for (std::size_t i = 0; i < s.size(); ++i) {
      const char c = s[i];
      if (in_string_) {
        if (escaped_) {
          escaped_ = false;
        } else if (c == '\\') {
          escaped_ = true;
        } else if (c == '"') {
          in_string_ = false;
          if (depth_ == 0) return i + 1;
        }
        continue;
      }
      if (c == '"') {
        in_string_ = begun_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
        begun_ = true;
      } else if (c == '}' || c == ']') {
        if (depth_ == 0) return i;  // a bare number or word before it
        if (--depth_ == 0) return i + 1;
      } else if (depth_ == 0 && begun_ && (c == ',' || is_space(c))) {
        return i;
      } else if (!is_space(c)) {
        begun_ = true;
      }
    }
    return std::string_view::npos;
  }

 private:
  std::uint64_t depth_ = 0;
  bool in_string_ = false, escaped_ = false, begun_ = false;
};

// Microseconds in decimal text, with or without a fraction or an exponent, as nanoseconds; what is finer is cut off.
bool nanoseconds_of(std::string_view text, std::int64_t& out) {
  text = trim(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::int64_t value = 0;
  int shift = 3;  // micro to nano
  bool fraction = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    if (fraction && shift == 0 && text.find_first_of("eE") == std::string_view::npos) continue;
    if (value > (INT64_MAX - 9) / 10) return false;
    value = value * 10 + (c - '0');
    if (fraction) --shift;
  }
  if (i == 0) return false;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return false;
    std::string_view power = text.substr(i + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    int exponent = 0;
    const auto r = std::from_chars(power.data(), power.data() + power.size(), exponent);
    if (r.ec != std::errc() || r.ptr != power.data() + power.size() || exponent > 30 || exponent < -30) return false;
    shift += exponent;
  }
  for (; shift > 0; --shift) {
    if (value > INT64_MAX / 10) return false;
    value *= 10;
  }
  for (; shift < 0; ++shift) value /= 10;
  out = negative ? -value : value;
  return true;
}

std::uint64_t whole_of(std::string_view token, std::uint64_t otherwise) {
  token = trim(token);
  if (token.size() >= 2 && token.front() == '"') token = token.substr(1, token.size() - 2);
  std::uint64_t n = 0;
  const auto r = std::from_chars(token.data(), token.data() + token.size(), n);
  return r.ec == std::errc() && r.ptr == token.data() + token.size() ? n : otherwise;
}

// Numbers for texts, from 0.
class Names {
 public:
  explicit Names(std::vector<std::string>& all) : all_(all) {}
  std::uint32_t of(std::string_view text) {
    if (const auto it = ids_.find(text); it != ids_.end()) return it->second;
    const auto id = static_cast<std::uint32_t>(all_.size());
    all_.emplace_back(text);
    ids_.emplace(text, id);
    return id;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  std::vector<std::string>& all_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
};

enum class Kind : std::uint8_t { unknown, other, kernel, copy, fill, call, host };

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
  if (cat == "user_annotation" || cat == "cpu_op" || cat == "Operator" || cat == "operator") return Kind::host;
  return Kind::other;
}

std::string plain(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return std::string(raw);
  const auto value = parse_json(fmt::format("\"{}\"", raw));
  return value && value->string() != nullptr ? *value->string() : std::string(raw);
}

struct Sizes {
  std::size_t gpu, calls, steps;
  std::uint64_t events;
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
  std::vector<std::uint8_t> work_of;  // by name: 0 not yet known, else GpuWork + 1

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
  void keep(Kind kind, std::string_view name, std::string_view ts, std::string_view dur, std::string_view pid,
            std::string_view tid, std::uint64_t correlation, std::uint64_t stream, std::uint64_t device);

  Sizes sizes() const { return {trace.gpu.size(), trace.calls.size(), trace.steps.size(), trace.events}; }
  void back_to(const Sizes& s) {
    trace.gpu.resize(s.gpu);
    trace.calls.resize(s.calls);
    trace.steps.resize(s.steps);
    trace.events = s.events;
  }
};

void KinetoReader::Guts::keep(Kind kind, std::string_view name, std::string_view ts, std::string_view dur, std::string_view pid,
                              std::string_view tid, std::uint64_t correlation, std::uint64_t stream, std::uint64_t device) {
  Span span;
  std::int64_t length = 0;
  if (!nanoseconds_of(ts, span.start_ns) || (!dur.empty() && !nanoseconds_of(dur, length))) {
    ++trace.damaged;
    return;
  }
  span.end_ns = span.start_ns + std::max<std::int64_t>(0, length);  // profilers write a negative one now and then
  if (kind == Kind::host) {
    trace.steps.push_back({span, names.of(plain(name)), threads.of(trim(tid))});
    return;
  }
  if (kind == Kind::call) {
    trace.calls.push_back({span, correlation, names.of(plain(name)), threads.of(trim(tid))});
    return;
  }
  GpuEvent e;
  e.span = span;
  e.correlation = correlation;
  e.name = names.of(plain(name));
  e.stream = static_cast<std::uint32_t>(stream != kNoCorrelation ? stream : whole_of(tid, 0));
  e.device = static_cast<std::int16_t>(device != kNoCorrelation ? device : whole_of(pid, 0));
  if (kind == Kind::kernel) {
    if (work_of.size() <= e.name) work_of.resize(e.name + 1, 0);
    std::uint8_t& known = work_of[e.name];
    if (known == 0) known = is_communication(trace.names[e.name]) ? 2 : 1;
    e.work = known == 2 ? GpuWork::communication : GpuWork::compute;
  } else {
    e.work = kind == Kind::copy ? GpuWork::copy : GpuWork::fill;
  }
  trace.gpu.push_back(e);
}

// False: this is no well-formed event. Only the members that are wanted are looked at, once, in their order.
bool KinetoReader::Guts::one(od::object object) {
  Kind kind = Kind::unknown;
  std::string_view name, ts, dur, pid, tid;
  std::uint64_t correlation = kNoCorrelation, stream = kNoCorrelation, device = kNoCorrelation;
  ++trace.events;
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
      kind = kind_of(until_quote(raw.raw()));
      if (kind == Kind::other) return true;
    } else if (is(k, "name")) {
      if (v.get_raw_json_string().get(raw) != simdjson::SUCCESS) return false;
      name = until_quote(raw.raw());
      if (kind == Kind::host && !name.starts_with("ProfilerStep")) return true;
    } else if (is(k, "ts")) {
      ts = v.raw_json_token();
    } else if (is(k, "dur")) {
      dur = v.raw_json_token();
    } else if (is(k, "pid")) {
      pid = v.raw_json_token();
    } else if (is(k, "tid")) {
      tid = v.raw_json_token();
    } else if (is(k, "args")) {
      od::object args;
      if (v.get_object().get(args) != simdjson::SUCCESS) continue;
      for (auto arg : args) {
        od::raw_json_string inner;
        od::value x;
        if (arg.key().get(inner) != simdjson::SUCCESS || arg.value().get(x) != simdjson::SUCCESS) return false;
        const char* a = inner.raw();
        if (is(a, "correlation")) {
          correlation = whole_of(x.raw_json_token(), kNoCorrelation);
        } else if (is(a, "stream")) {
          stream = whole_of(x.raw_json_token(), kNoCorrelation);
        } else if (is(a, "device")) {
          device = whole_of(x.raw_json_token(), kNoCorrelation);
        }
      }
    }
  }
  if (kind == Kind::unknown || kind == Kind::other || (kind == Kind::host && !name.starts_with("ProfilerStep"))) return true;
  keep(kind, name, ts, dur, pid, tid, correlation, stream, device);
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

void KinetoReader::Guts::header(std::string_view value) {
  const auto read_value = parse_json(value);
  if (!read_value) return;
  if (key == "deviceProperties" && read_value->array() != nullptr) {
    for (const Value& d : *read_value->array()) {
      const Value* name = d.find("name");
      trace.gpus.push_back(name != nullptr && name->string() != nullptr ? *name->string() : std::string());
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
  std::size_t from = skip_space(text, text.starts_with("\xef\xbb\xbf") ? 3 : 0);
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

KinetoReader::KinetoReader() : guts_(std::make_unique<Guts>()) {}
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
