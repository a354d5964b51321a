// Trees of any shape (prom_api.cpp reads one shape without a tree). simdjson's On Demand front end is used because, unlike its
// DOM, it knows where an error is and hands out the digits of numbers too large for it.
#include "ingest/json.h"

#include <charconv>
#include <numeric>

#include <fmt/core.h>
#include <simdjson.h>

#include "ingest/json_number.h"

namespace muster {
namespace {

namespace od = simdjson::ondemand;

constexpr std::size_t kTextMax = std::size_t{1} << 31;

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.back() == ' ' || s.back() == '\n' || s.back() == '\r' || s.back() == '\t'))
    s.remove_suffix(1);
  return s;
}

// Position of a key that occurs twice, or npos.
std::size_t duplicate_key(const Value::Object& o) {
  constexpr std::size_t kQuadratic = 24;
  if (o.size() <= kQuadratic) {
    for (std::size_t i = 1; i < o.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (o[i].key == o[k].key) return i;
      }
    }
    return std::string::npos;
  }
  std::vector<std::size_t> order(o.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return o[a].key < o[b].key; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (o[order[i]].key == o[order[i - 1]].key) return order[i];
  }
  return std::string::npos;
}

// Turns one document into a tree; on failure `failed` says why and where.
class Builder {
 public:
  Builder(const char* begin, std::size_t size, int max_depth) : begin_(begin), size_(size), max_depth_(max_depth) {}

  bool document(od::document& doc, Value& out) {
    od::json_type type;
    if (const auto e = doc.type().get(type)) return fault(e, begin_);
    if (type == od::json_type::array || type == od::json_type::object) {
      od::value v;
      if (const auto e = doc.get_value().get(v)) return fault(e, begin_);
      return any(v, out, 1);
    }
    if (type == od::json_type::string) {
      std::string_view s;
      if (const auto e = doc.get_string().get(s)) return fault(e, begin_);
      out = Value(std::string(s));
      return true;
    }
    std::string_view token;
    if (const auto e = doc.raw_json_token().get(token)) return fault(e, begin_);
    root_scalar_ = true;
    const char* end = token.data() + token.size();
    if (end < begin_ + size_) return fault("something follows the value", end);
    return scalar(token.substr(0, static_cast<std::size_t>(begin_ + size_ - token.data())), out);
  }

  bool fault(std::string reason, const char* at) {
    const auto offset = at >= begin_ && at <= begin_ + size_ ? static_cast<std::size_t>(at - begin_) : size_;
    error_ = fmt::format("byte {}: {}", offset, reason);
    return false;
  }
  bool fault(simdjson::error_code e, const char* at) { return fault(std::string(simdjson::error_message(e)), at); }
  const std::string& error() const { return error_; }
  bool root_scalar() const { return root_scalar_; }

 private:
  bool any(od::value v, Value& out, int depth) {
    od::json_type type;
    const char* at = place(v);
    if (depth > max_depth_) return fault(fmt::format("nested deeper than {}", max_depth_), at);
    if (const auto e = v.type().get(type)) return fault(e, at);
    switch (type) {
      case od::json_type::object:
        return object(v, out, depth);
      case od::json_type::array:
        return array(v, out, depth);
      case od::json_type::string: {
        std::string_view s;
        if (const auto e = v.get_string().get(s)) return fault(e, at);
        out = Value(std::string(s));
        return true;
      }
      default:
        return scalar(v.raw_json_token(), out);  // the iteration itself steps over it
    }
  }

  bool object(od::value& v, Value& out, int depth) {
    od::object o;
    if (const auto e = v.get_object().get(o)) return fault(e, place(v));
    Value::Object members;
    for (auto field : o) {
      od::field f;
      if (const auto e = std::move(field).get(f)) return fault(e, place(v));
      std::string_view key;
      if (const auto e = f.unescaped_key().get(key)) return fault(e, place(v));
      members.push_back({std::string(key), Value()});
      if (!any(f.value(), members.back().value, depth + 1)) return false;
    }
    if (const std::size_t i = duplicate_key(members); i != std::string::npos) {
      return fault(fmt::format("an object has the key \"{}\" twice", members[i].key.substr(0, 64)), place(v));
    }
    out = Value(std::move(members));
    return true;
  }

  bool array(od::value& v, Value& out, int depth) {
    od::array a;
    if (const auto e = v.get_array().get(a)) return fault(e, place(v));
    Value::Array items;
    for (auto element : a) {
      od::value item;
      if (const auto e = std::move(element).get(item)) return fault(e, place(v));
      items.emplace_back();
      if (!any(item, items.back(), depth + 1)) return false;
    }
    out = Value(std::move(items));
    return true;
  }

  bool scalar(std::string_view token, Value& out) {
    const std::string_view s = trimmed(token);
    if (s == "true" || s == "false") {
      out = Value(s == "true");
      return true;
    }
    if (s == "null") {
      out = Value();
      return true;
    }
    const JsonNumber number = json_number_at(s);
    if (number.size == 0 || number.size != s.size()) return fault("not a JSON value", token.data());
    if (number.whole()) {
      std::int64_t i = 0;
      if (std::from_chars(s.data(), s.data() + s.size(), i).ec == std::errc()) {
        out = Value(i);
        return true;
      }
    }
    double d = 0;
    if (std::from_chars(s.data(), s.data() + s.size(), d).ec != std::errc())
      return fault("number out of range", token.data());
    out = Value(d);
    return true;
  }

  const char* place(od::value& v) {
    const char* at = nullptr;
    return v.current_location().get(at) == simdjson::SUCCESS ? at : begin_ + size_;
  }

  const char* begin_;
  std::size_t size_;
  int max_depth_;
  std::string error_;
  bool root_scalar_ = false;  // a number or word alone: the iterator stays on it
};

}  // namespace

Result<Value> parse_json(std::string_view text, int max_depth) {
  if (text.size() > kTextMax) return fail(Code::bad_input, "byte 0: more than 2 GiB of JSON");
  thread_local od::parser parser;
  thread_local std::string padded;  // simdjson reads a little beyond the end
  padded.assign(text);
  padded.append(simdjson::SIMDJSON_PADDING, ' ');
  Builder build(padded.data(), text.size(), max_depth);
  od::document doc;
  Value out;
  bool ok = true;
  if (const auto e = parser.iterate(padded.data(), text.size(), padded.size()).get(doc)) {
    ok = build.fault(e, padded.data());
  } else {
    ok = build.document(doc, out);
    const char* at = nullptr;  // out of bounds is where the iterator belongs now
    if (ok && !build.root_scalar() && doc.current_location().get(at) == simdjson::SUCCESS) {
      ok = build.fault("something follows the value", at);
    }
  }
  constexpr std::size_t kKeep = 1 << 20;  // a thread that once saw a huge text does not keep its memory
  if (padded.capacity() > kKeep) std::string().swap(padded);
  if (parser.capacity() > kKeep) parser = od::parser();
  if (!ok) return fail(Code::bad_input, build.error());
  return out;
}

}  // namespace muster
