// RFC 8259's grammar of a number: from_chars alone would also take "01", ".5" and "1.".
#pragma once
#include <cstddef>
#include <string_view>

namespace muster {

struct JsonNumber {
  std::size_t size = 0;    // bytes; 0: there is none
  std::size_t digits = 0;  // of them, those before a point and an exponent, and a sign
  bool whole() const { return digits == size; }
};

// The number that `s` begins with.
constexpr JsonNumber json_number_at(std::string_view s) {
  const char *at = s.data(), *const end = at + s.size();
  const auto digits = [&at, end] {
    const char* const from = at;
    while (at != end && *at >= '0' && *at <= '9') ++at;
    return at - from;
  };
  if (at != end && *at == '-') ++at;
  const bool zero = at != end && *at == '0';
  const auto n = digits();
  if (n == 0 || (n > 1 && zero)) return {};
  const char* const whole = at;
  if (at != end && *at == '.') {
    ++at;
    if (digits() == 0) return {};
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    if (digits() == 0) return {};
  }
  return {static_cast<std::size_t>(at - s.data()), static_cast<std::size_t>(whole - s.data())};
}

}  // namespace muster
