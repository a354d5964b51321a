#include "model/codec.h"

#include <fmt/core.h>

#include <limits>
#include <type_traits>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/state_fields.h"

namespace muster {
namespace {

// ---------------------------------------------------------------- writing

struct Encoder {
  JsonWriter& w;
  template <class T>
  void operator()(std::string_view name, T& t) {
    w.key(name);
    write(t);
  }

  void write(bool b) { w.value(b); }
  void write(double d) { w.value(d); }
  void write(const std::string& s) { w.value(s); }
  void write(Time t) { w.value(t.ns); }
  void write(Duration d) { w.value(d.ns); }
  void write(JobId j) { w.value(render(j)); }
  template <class Tag, class I, I None>
  void write(Id<Tag, I, None> id) {
    if (id.some()) {
      w.value(static_cast<std::uint64_t>(id.v));
    } else {
      w.null();
    }
  }
  template <class T>
  requires std::is_integral_v<T>
  void write(T i) {
    if constexpr (std::is_signed_v<T>) {
      w.value(static_cast<std::int64_t>(i));
    } else {
      w.value(static_cast<std::uint64_t>(i));
    }
  }
  template <NamedEnum E>
  void write(E e) {
    w.value(name_of(e));
  }
  template <class A, class B>
  void write(const std::pair<A, B>& p) {
    w.array();
    write(p.first);
    write(p.second);
    w.end_array();
  }
  // Maps are lists of pairs: their keys are not all text, and order matters to the bytes.
  template <class C>
  requires requires(const C& c) {
    c.begin();
    c.end();
  }
  void write(const C& c) {
    w.array();
    for (const auto& e : c) write(e);
    w.end_array();
  }
  template <class T>
  requires requires(Encoder& v, T& t) { fields(v, t); }
  void write(const T& t) {
    w.object();
    fields(*this, const_cast<T&>(t));  // visited for reading only
    w.end_object();
  }
};

template <class T>
std::string encode(const T& t) {
  JsonWriter w;
  Encoder{w}.write(t);
  return w.take();
}

// ---------------------------------------------------------------- reading

// What a field was called before: runbooks were ladders of rungs once.
constexpr std::string_view older_name(std::string_view name) {
  return name == "runbooks" ? "ladders" : name == "steps" ? "rungs" : std::string_view();
}

// A ladder was known by its kind.
void name_runbooks(Body& b) {
  auto* p = std::get_if<PolicyApplied>(&b);
  if (p == nullptr) return;
  for (Runbook& r : p->policy.runbooks) {
    if (r.name.empty()) r.name = name_of(r.kind);
  }
}

struct Decoder {
  const Value* from = nullptr;
  std::string problem;  // first one; empty: none

  void bad(std::string_view where, std::string_view what) {
    if (problem.empty()) problem = fmt::format("{}: {}", where, what);
  }
  template <class T>
  void operator()(std::string_view name, T& t) {
    if (!problem.empty()) return;
    const Value* v = from->find(name);
    if (v == nullptr) v = from->find(older_name(name));
    if (v == nullptr) return;  // absent in an older schema: the default stands
    read(name, *v, t);
  }

  void read(std::string_view at, const Value& v, bool& b) {
    if (const bool* x = v.boolean())
      b = *x;
    else
      bad(at, "is not a boolean");
  }
  void read(std::string_view at, const Value& v, double& d) {
    if (v.is_null()) {
      d = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    if (!v.number(d)) bad(at, "is not a number");
  }
  void read(std::string_view at, const Value& v, std::string& s) {
    if (const std::string* x = v.string())
      s = *x;
    else
      bad(at, "is not text");
  }
  void read(std::string_view at, const Value& v, Time& t) { read(at, v, t.ns); }
  void read(std::string_view at, const Value& v, Duration& d) { read(at, v, d.ns); }
  void read(std::string_view at, const Value& v, JobId& j) {
    const std::string* s = v.string();
    if (s == nullptr) return bad(at, "is not a job id");
    const std::string_view text = *s;
    const std::size_t bar = text.find('_');
    const bool member = bar != std::string_view::npos;  // of an array
    const auto number = parse_uint(text.substr(0, bar));
    const auto index = member ? parse_uint(text.substr(bar + 1)) : std::optional<std::uint64_t>(0);
    if (!number || !index || *number > UINT32_MAX || *index >= UINT32_MAX) return bad(at, "is not a job id");
    j = JobId{static_cast<std::uint32_t>(*number), member ? static_cast<std::uint32_t>(*index + 1) : 0};
  }
  template <class Tag, class I, I None>
  void read(std::string_view at, const Value& v, Id<Tag, I, None>& id) {
    if (v.is_null()) {
      id.v = None;
      return;
    }
    read(at, v, id.v);
  }
  template <class T>
  requires std::is_integral_v<T>
  void read(std::string_view at, const Value& v, T& out) {
    const std::int64_t* i = v.integer();
    if (i == nullptr) return bad(at, "is not a whole number");
    if constexpr (sizeof(T) < 8) {
      if (*i < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
          *i > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
        return bad(at, "is out of range");
    } else if constexpr (std::is_unsigned_v<T>) {
      if (*i < 0) return bad(at, "is negative");
    }
    out = static_cast<T>(*i);
  }
  template <NamedEnum E>
  void read(std::string_view at, const Value& v, E& e) {
    const std::string* s = v.string();
    if (s == nullptr || !parse_name(*s, e)) bad(at, "is not one of the known words");
  }
  template <class A, class B>
  void read(std::string_view at, const Value& v, std::pair<A, B>& p) {
    const Value::Array* a = v.array();
    if (a == nullptr || a->size() != 2) return bad(at, "is not a pair");
    read(at, (*a)[0], const_cast<std::remove_const_t<A>&>(p.first));
    read(at, (*a)[1], p.second);
  }
  template <class T, std::size_t N>
  void read(std::string_view at, const Value& v, std::array<T, N>& out) {
    const Value::Array* a = v.array();
    if (a == nullptr || a->size() != N) return bad(at, "is not a list of the right length");
    for (std::size_t i = 0; i < N; ++i) read(at, (*a)[i], out[i]);
  }
  template <class C>
  requires requires(C& c) { c.insert(c.end(), std::declval<typename C::value_type>()); }
  void read(std::string_view at, const Value& v, C& c) {
    const Value::Array* a = v.array();
    if (a == nullptr) return bad(at, "is not a list");
    c.clear();
    for (const Value& e : *a) {
      if constexpr (requires { typename C::mapped_type; }) {
        std::pair<typename C::key_type, typename C::mapped_type> x;
        read(at, e, x);
        c.insert(c.end(), std::move(x));
      } else {
        typename C::value_type x;
        read(at, e, x);
        c.insert(c.end(), std::move(x));
      }
      if (!problem.empty()) return;
    }
  }
  template <class T>
  requires requires(Decoder& d, T& t) { fields(d, t); }
  void read(std::string_view at, const Value& v, T& t) {
    if (v.object() == nullptr) return bad(at, "is not an object");
    const Value* outer = from;
    from = &v;
    fields(*this, t);
    from = outer;
  }
};

template <class T>
Result<T> decode(std::string_view what, const Value& v) {
  T t;
  Decoder d;
  d.read(what, v, t);
  if (!d.problem.empty()) return fail(Code::corrupt, d.problem);
  return t;
}

template <std::size_t I = 0>
Result<Body> decode_as(std::size_t index, const Value& v) {
  if constexpr (I == std::variant_size_v<AnyBody>) {
    return fail(Code::corrupt, "unknown event type");
  } else {
    if (index != I) return decode_as<I + 1>(index, v);
    auto r = decode<std::variant_alternative_t<I, AnyBody>>(kBodyNames[I], v);
    if (!r) return tl::unexpected(r.error());
    Body b(std::move(*r));
    name_runbooks(b);
    return b;
  }
}

template <std::size_t I = 0>
Result<accepting::Row> decode_row_as(std::size_t index, const Value& v) {
  if constexpr (I == std::variant_size_v<accepting::Row>) {
    return fail(Code::not_found, "unknown row");
  } else {
    if (index != I) return decode_row_as<I + 1>(index, v);
    auto r = decode<std::variant_alternative_t<I, accepting::Row>>(accepting::kRowNames[I], v);
    if (!r) return tl::unexpected(r.error());
    return accepting::Row(std::move(*r));
  }
}

}  // namespace

std::string encode_event(const Event& e) {
  thread_local JsonWriter w;  // its memory is kept: events are encoded one after the other, thousands a second
  w.clear();
  Encoder enc{w};
  w.object().field("schema", e.schema).field("seq", e.seq);
  w.key("source");
  enc.write(e.source);
  w.field("utc", e.utc.ns).field("type", type_of(e));
  w.key("body");
  std::visit([&](const auto& b) { enc.write(b); }, e.body);
  w.end_object();
  return w.take();
}

std::string encode_body(const Body& b) {
  return std::visit([](const auto& x) { return encode(x); }, b);
}

Result<Body> decode_body(std::string_view type, const Value& v) {
  for (std::size_t i = 0; i < kBodyNames.size(); ++i) {
    if (kBodyNames[i] == type) return decode_as(i, v);
  }
  return fail(Code::corrupt, fmt::format("unknown event type '{}'", type), "it was written by a newer muster: use that one");
}

Result<Event> decode_event(const Value& v) {
  Event e;
  Decoder d;
  d.from = &v;
  if (v.object() == nullptr) return fail(Code::corrupt, "an event is not an object");
  std::string type;
  d("schema", e.schema);
  d("seq", e.seq);
  d("source", e.source);
  d("utc", e.utc);
  d("type", type);
  if (!d.problem.empty()) return fail(Code::corrupt, d.problem);
  if (e.schema != 1) {
    return fail(Code::corrupt, fmt::format("event {} has schema {}", e.seq, e.schema),
                "it was written by a newer muster: use that one");
  }
  const Value* body = v.find("body");
  if (body == nullptr) return fail(Code::corrupt, fmt::format("event {} has no body", e.seq));
  auto b = decode_body(type, *body);
  if (!b) return tl::unexpected(b.error());
  e.body = std::move(*b);
  return e;
}

std::string encode_state(const State& s) { return encode(s); }
Result<State> decode_state(const Value& v) {
  auto s = decode<State>("state", v);
  if (s) refresh(*s);
  return s;
}
std::string encode_policy(const Policy& p) { return encode(p); }
std::string encode_site(const Site& s) { return encode(s); }
Result<Site> decode_site(const Value& v) { return decode<Site>("site", v); }
std::string encode_order(const Order& o) { return encode(o); }
Result<Order> decode_order(const Value& v) { return decode<Order>("order", v); }
std::string encode_spec(const JobSpec& s) { return encode(s); }
Result<JobSpec> decode_spec(const Value& v) { return decode<JobSpec>("spec", v); }
Result<Finding> decode_finding(const Value& v) { return decode<Finding>("finding", v); }
std::string encode_job(const Job& j) { return encode(j); }
std::string encode_incident(const Incident& i) { return encode(i); }
std::string encode_finding(const Finding& f) { return encode(f); }
std::string encode_order_record(const OrderRecord& o) { return encode(o); }
std::string encode_gpu_hours(const GpuHours& g) { return encode(g); }
Result<GpuHours> decode_gpu_hours(const Value& v) { return decode<GpuHours>("gpu_hours", v); }

std::string encode_row(const accepting::Row& r) {
  JsonWriter w;
  Encoder enc{w};
  w.object().field("row", accepting::kRowNames[r.index()]);
  std::visit([&](const auto& x) { fields(enc, const_cast<std::remove_cvref_t<decltype(x)>&>(x)); }, r);  // for reading only
  w.end_object();
  return w.take();
}

Result<accepting::Row> decode_row(const Value& v) {
  const Value* name = v.find("row");
  const std::string* word = name == nullptr ? nullptr : name->string();
  if (word == nullptr) return fail(Code::corrupt, "no \"row\" says what it is");
  std::size_t index = 0;
  while (index < accepting::kRowNames.size() && accepting::kRowNames[index] != *word) ++index;
  return decode_row_as(index, v);
}

std::string encode_accounts(const Accounts& a) { return encode(a); }
Result<Accounts> decode_accounts(const Value& v) { return decode<Accounts>("accounts", v); }

}  // namespace muster
