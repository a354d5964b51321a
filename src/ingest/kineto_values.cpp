#include "ingest/kineto_values.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

#include "base/text.h"
#include "ingest/json.h"

namespace muster::kineto {

std::size_t skip_space(std::string_view s, std::size_t at) {
  while (at < s.size() && is_space(s[at])) ++at;
  return at;
}

std::size_t Nesting::end(std::string_view s) {
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

std::string_view unquoted(std::string_view token) {
  token = trim(token);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  return token;
}

std::string plain(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return std::string(raw);
  const auto value = parse_json(fmt::format("\"{}\"", raw));
  return value && value->string() != nullptr ? *value->string() : std::string(raw);
}

std::uint64_t product_of(std::string_view list) {
  std::uint64_t product = 1;
  bool any = false;
  for (std::size_t i = 0; i < list.size();) {
    if (list[i] < '0' || list[i] > '9') {
      ++i;
      continue;
    }
    std::uint64_t n = 0;
    const auto r = std::from_chars(list.data() + i, list.data() + list.size(), n);
    if (r.ec != std::errc() || (n != 0 && product > (std::uint64_t{1} << 62) / n)) return 0;
    product *= n;
    any = true;
    i = static_cast<std::size_t>(r.ptr - list.data());
  }
  return any ? product : 0;
}

namespace {

using Shape = std::vector<std::int64_t>;

// [4, 8]; none where anything else is among them.
std::optional<Shape> shape_of(const Value& v) {
  if (v.array() == nullptr) return {};
  Shape out;
  for (const Value& n : *v.array()) {
    if (n.integer() == nullptr || *n.integer() < 0) return {};
    out.push_back(*n.integer());
  }
  return out;
}

}  // namespace

std::vector<OpInput> read_inputs(std::string_view dims, std::string_view types, std::string_view values) {
  std::vector<OpInput> out;
  const auto read = parse_json(dims);
  if (!read || read->array() == nullptr) return out;
  const auto list = [](std::string_view json) { return json.empty() ? Result<Value>(Value()) : parse_json(json); };
  const auto all_types = list(types), all_values = list(values);
  const auto text = [](const Result<Value>& all, std::size_t i) -> std::string {
    if (!all || all->array() == nullptr || i >= all->array()->size()) return {};
    const std::string* s = (*all->array())[i].string();
    return s != nullptr ? *s : std::string();
  };
  for (const Value& v : *read->array()) {
    OpInput in;
    in.type = text(all_types, out.size());
    in.value = text(all_values, out.size());
    if (auto shape = shape_of(v)) {
      if (!shape->empty() || (in.type != "" && in.type != "Scalar" && in.type != "ScalarList" && in.type != "GenericList"))
        in.shapes.push_back(std::move(*shape));
    } else if (v.array() != nullptr) {
      for (const Value& each : *v.array()) {
        if (auto inner = shape_of(each)) in.shapes.push_back(std::move(*inner));
      }
    }
    out.push_back(std::move(in));
  }
  return out;
}

}  // namespace muster::kineto
