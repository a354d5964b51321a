#include "fleet/version.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace muster::fleet {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
// Bytes beyond ASCII are letters of some script: two names in it are not the same name.
bool plain(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

// Longer ones first: of "cuda_" and "cuda" the first that fits is taken off.
constexpr std::string_view kBefore[] = {"release", "version", "cuda", "slurm-wlm", "slurm", "nccl", "mlx5_", "v", "r"};

bool before_release(std::string_view word) {
  for (const std::string_view w : {"rc", "alpha", "beta", "pre", "dev"}) {
    if (word == w) return true;
  }
  return false;
}

// Packages have an epoch in front, "1:4.5.2", which no program knows of itself.
std::string_view without_epoch(std::string_view s) {
  std::size_t n = 0;
  while (n < s.size() && digit(s[n])) ++n;
  return n > 0 && n + 1 < s.size() && s[n] == ':' && digit(s[n + 1]) ? s.substr(n + 1) : s;
}

std::string_view without_words(std::string_view s) {
  while (true) {
    std::string_view rest = s;
    for (const std::string_view w : kBefore) {
      if (s.size() <= w.size() || lower(s.substr(0, w.size())) != w) continue;
      rest.remove_prefix(w.size());
      while (!rest.empty() && std::string_view(" _-:=.").find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
      break;
    }
    if (rest.size() == s.size() || rest.empty()) return s;
    s = rest;
  }
}

// Where versions have a letter in front: "R580", "v1.17.8".
std::string_view bare(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '=')) s.remove_prefix(1);
  if (s.size() > 1 && (s[0] == 'R' || s[0] == 'r' || s[0] == 'v' || s[0] == 'V') && digit(s[1])) s.remove_prefix(1);
  return s;
}

// The next number or word; empty at the end. Dots, dashes and the like stand between.
std::string_view next_part(std::string_view& s) {
  while (!s.empty() && !plain(s.front())) s.remove_prefix(1);
  if (s.empty()) return {};
  const bool number = digit(s.front());
  std::size_t n = 0;
  while (n < s.size() && plain(s[n]) && digit(s[n]) == number) ++n;
  const std::string_view part = s.substr(0, n);
  s.remove_prefix(n);
  return part;
}

std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  const auto strip = [](std::string_view& x) {
    while (x.size() > 1 && x.front() == '0') x.remove_prefix(1);
  };
  strip(a);
  strip(b);
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

// Where begins what a package put behind the version of what is in it; npos: nothing. "-rc1" is no package's, nor is "-0rc1".
std::size_t tail_at(std::string_view s) {
  std::size_t at = s.find_first_of("-+");
  while (at != std::string_view::npos) {
    std::string_view rest = s.substr(at);
    std::string_view first = next_part(rest);
    if (!first.empty() && compare_numbers(first, "0") == 0) first = next_part(rest);
    if (!before_release(first)) return at;
    at = s.find_first_of("-+", at + 1);
  }
  return at;
}

// What is missing counts as 0. A word stands after nothing and after 0, one of a release to come before them; against other
// numbers nobody knows.
std::partial_ordering order_parts(std::string_view x, std::string_view y) {
  const bool nx = x.empty() || digit(x.front()), ny = y.empty() || digit(y.front());
  if (nx && ny) return compare_numbers(x.empty() ? "0" : x, y.empty() ? "0" : y);
  if (!nx && !ny) {
    const bool bx = before_release(x), by = before_release(y);
    return bx != by ? (bx ? std::partial_ordering::less : std::partial_ordering::greater) : x.compare(y) <=> 0;
  }
  const std::string_view word = nx ? y : x, number = nx ? x : y;
  const bool before = before_release(word);
  if (!before && !number.empty() && compare_numbers(number, "0") != 0) return std::partial_ordering::unordered;
  return nx == before ? std::partial_ordering::greater : std::partial_ordering::less;
}

std::partial_ordering order_all_parts(std::string_view a, std::string_view b) {
  while (true) {
    const std::string_view x = next_part(a), y = next_part(b);
    if (x.empty() && y.empty()) return std::partial_ordering::equivalent;
    if (const auto order = order_parts(x, y); order != 0) return order;
  }
}

}  // namespace

std::optional<std::string_view> version_in(std::string_view text) {
  std::string_view s = without_epoch(without_words(trim(text)));
  s = s.substr(0, s.find_first_of(" \t\r\n,;()"));
  std::size_t n = 0;
  while (n < s.size() && digit(s[n])) ++n;
  // "580" and "13.0" are, "3fa9c2d" is some hash.
  if (n == 0 || (n < s.size() && std::string_view(".-_+~").find(s[n]) == std::string_view::npos)) return std::nullopt;
  return s;
}

bool no_answer(std::string_view text) {
  std::string_view s = trim(text);
  if (s.size() >= 2 && s.front() == '[' && s.back() == ']') s = s.substr(1, s.size() - 2);
  const std::string l = lower(s);
  for (const std::string_view w : {"unknown", "n/a", "-", "--", "?", "not available", "not supported", "unknown error", "error",
                                   "err", "err!", "not found"}) {
    if (l == w) return true;
  }
  return false;
}

std::partial_ordering order_versions(std::string_view a, std::string_view b) {
  const auto ta = tail_at(a), tb = tail_at(b);
  // By themselves, or the 5 of "12.9-5" would be held against the 1 of "12.9.1-1".
  const auto order = order_all_parts(a.substr(0, ta), b.substr(0, tb));
  if (order != 0 || ta == std::string_view::npos || tb == std::string_view::npos) return order;
  return order_all_parts(a.substr(ta), b.substr(tb));
}

bool has_parts(std::string_view text) { return std::any_of(text.begin(), text.end(), plain); }

std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
  a = bare(a);
  b = bare(b);
  while (true) {
    const std::string_view x = next_part(a), y = next_part(b);
    if (x.empty() && y.empty()) return std::strong_ordering::equal;
    const bool nx = !x.empty() && digit(x.front()), ny = !y.empty() && digit(y.front());
    // A word is before a number and before nothing's 0 it is after: 1.0 < 1.0rc1 is not what anybody means, but no fact here is
    // one.
    const std::string_view vx = x.empty() && ny ? "0" : x, vy = y.empty() && nx ? "0" : y;
    const bool both = !vx.empty() && !vy.empty() && digit(vx.front()) && digit(vy.front());
    const auto order = both ? compare_numbers(vx, vy) : vx.compare(vy) <=> 0;
    if (order != 0) return order;
  }
}

bool in_branch(std::string_view version, std::string_view branch) {
  version = bare(version);
  branch = bare(branch);
  while (true) {
    const std::string_view b = next_part(branch);
    if (b.empty()) return true;
    std::string_view v = next_part(version);
    if (v.empty() && digit(b.front())) v = "0";
    if (v.empty()) return false;
    const bool numbers = digit(b.front()) && digit(v.front());
    if (numbers ? compare_numbers(v, b) != 0 : v != b) return false;
  }
}

}  // namespace muster::fleet
