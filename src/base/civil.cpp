#include "base/civil.h"

namespace muster {
namespace {

constexpr std::int64_t kFirstYear = 1700, kLastYear = 2261;  // what fits into nanoseconds

bool leap(std::int64_t y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; }

std::int64_t days_in(std::int64_t y, std::int64_t m) {
  if (m == 2) return leap(y) ? 29 : 28;
  return m == 4 || m == 6 || m == 9 || m == 11 ? 30 : 31;
}

// The digits at `at`; moves past them. None: they are not that many digits.
std::optional<std::int64_t> digits(std::string_view text, std::size_t& at, std::size_t count) {
  std::int64_t n = 0;
  for (std::size_t i = 0; i < count; ++i, ++at) {
    if (at >= text.size() || text[at] < '0' || text[at] > '9') return std::nullopt;
    n = n * 10 + (text[at] - '0');
  }
  return n;
}

bool skip(std::string_view text, std::size_t& at, char c) {
  if (at >= text.size() || text[at] != c) return false;
  ++at;
  return true;
}

// ".567" and up to nine digits, as nanoseconds; 0 where there is none.
std::optional<std::int64_t> fraction(std::string_view text, std::size_t& at) {
  if (!skip(text, at, '.')) return 0;
  std::int64_t ns = 0, unit = 100'000'000;
  const std::size_t first = at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && unit > 0; ++at, unit /= 10) ns += (text[at] - '0') * unit;
  return at == first ? std::nullopt : std::optional(ns);
}

}  // namespace

std::optional<std::int64_t> day_of(std::int64_t y, std::int64_t m, std::int64_t d) {
  if (y < kFirstYear || y > kLastYear || m < 1 || m > 12 || d < 1 || d > days_in(y, m)) return std::nullopt;
  // Days since 1970 by the civil calendar, with years that begin in March.
  y -= m <= 2 ? 1 : 0;
  const std::int64_t era = y / 400, of_era = y - era * 400;
  const std::int64_t of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

std::string render_day(std::int64_t day) { return render_utc(begin_of(day)).substr(0, 10); }

std::optional<Time> parse_moment_utc(std::string_view text) {
  std::size_t at = 0;
  const auto year = digits(text, at, 4);
  if (!year || !skip(text, at, '-')) return std::nullopt;
  const auto month = digits(text, at, 2);
  if (!month || !skip(text, at, '-')) return std::nullopt;
  const auto mday = digits(text, at, 2);
  const auto day = mday ? day_of(*year, *month, *mday) : std::nullopt;
  if (!day) return std::nullopt;
  if (at == text.size()) return begin_of(*day);
  if (!skip(text, at, 'T')) return std::nullopt;
  const auto hour = digits(text, at, 2);
  if (!hour || *hour > 23 || !skip(text, at, ':')) return std::nullopt;
  const auto minute = digits(text, at, 2);
  if (!minute || *minute > 59) return std::nullopt;
  std::optional<std::int64_t> second = 0, ns = 0;
  if (skip(text, at, ':')) {
    second = digits(text, at, 2);
    if (!second || *second > 59) return std::nullopt;
    ns = fraction(text, at);
  }
  skip(text, at, 'Z');
  if (!ns || at != text.size()) return std::nullopt;
  return begin_of(*day) + hours(*hour) + minutes(*minute) + seconds(*second) + nanoseconds(*ns);
}

}  // namespace muster
