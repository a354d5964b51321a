// A cursor over one text, for grammars written by hand: every `take` either consumes exactly what it names or leaves it alone.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ingest/pci.h"

namespace muster {

class Cursor {
 public:
  explicit Cursor(std::string_view s) : s_(s) {}

  bool take(std::string_view word) {
    if (s_.substr(0, word.size()) != word) return false;
    s_.remove_prefix(word.size());
    return true;
  }
  // A decimal number without sign or leading zero, of at most `most` digits.
  std::optional<std::uint64_t> number(std::size_t most, bool leading_zero = false) {
    std::size_t n = 0;
    while (n < s_.size() && n <= most && s_[n] >= '0' && s_[n] <= '9') ++n;
    if (n == 0 || n > most || (!leading_zero && n > 1 && s_[0] == '0')) return std::nullopt;
    std::uint64_t v = 0;
    if (std::from_chars(s_.data(), s_.data() + n, v).ec != std::errc()) return std::nullopt;
    s_.remove_prefix(n);
    return v;
  }
  // Hex digits, `least` to `most` of them.
  std::optional<std::uint64_t> hex(std::size_t least, std::size_t most) {
    std::size_t n = 0;
    const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
    while (n < s_.size() && n <= most && digit(s_[n])) ++n;
    std::uint64_t v = 0;
    if (n < least || n > most || n > 16 || std::from_chars(s_.data(), s_.data() + n, v, 16).ec != std::errc())
      return std::nullopt;
    s_.remove_prefix(n);
    return v;
  }
  // `function`, if given: the digit after the dot, or -1.
  std::optional<PciAddress> pci(int* function = nullptr) {
    std::size_t used = 0;
    const auto a = read_pci_prefix(s_, used);
    if (!a) return a;
    if (function != nullptr) *function = s_[used - 2] == '.' ? s_[used - 1] - '0' : -1;
    s_.remove_prefix(used);
    return a;
  }
  // Characters of a driver's or interface's name.
  std::string_view word(std::size_t most) {
    std::size_t n = 0;
    const auto ok = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    };
    while (n < s_.size() && ok(s_[n])) ++n;
    if (n > most) return {};
    const std::string_view w = s_.substr(0, n);
    s_.remove_prefix(n);
    return w;
  }
  void blanks() {
    while (!s_.empty() && s_[0] == ' ') s_.remove_prefix(1);
  }
  void skip(std::size_t n) { s_.remove_prefix(std::min(n, s_.size())); }
  bool done() const { return s_.empty(); }
  char peek() const { return s_.empty() ? '\0' : s_[0]; }
  std::string_view rest() const { return s_; }

 private:
  std::string_view s_;
};

}  // namespace muster
