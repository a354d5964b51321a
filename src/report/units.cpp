#include "report/units.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace muster::report {
namespace {

// Days from 1970-01-01 in the proleptic Gregorian calendar.
std::int64_t days_from_civil(std::int64_t y, unsigned m, unsigned d) {
  y -= m <= 2;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const auto yoe = static_cast<unsigned>(y - era * 400);
  const unsigned doy = (153 * (m + (m > 2 ? -3U : 9U)) + 2) / 5 + d - 1;
  const unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + static_cast<std::int64_t>(doe) - 719468;
}

bool is_leap(unsigned y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }

// 0: there is no such month.
unsigned days_in_month(unsigned y, unsigned m) {
  constexpr unsigned kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (m < 1 || m > 12) return 0;
  return m == 2 && is_leap(y) ? 29 : kDays[m - 1];
}

std::string grouped(std::string digits) {
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

}  // namespace

std::optional<Time> parse_utc(std::string_view text) {
  if (text.size() < 20 || text.size() > 30 || text.back() != 'Z') return std::nullopt;
  const std::string_view shape = "dddd-dd-ddTdd:dd:dd";
  unsigned part[6] = {};
  int at = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 'd') {
      if (text[i] != shape[i]) return std::nullopt;
      ++at;
    } else {
      if (text[i] < '0' || text[i] > '9') return std::nullopt;
      part[at] = part[at] * 10 + static_cast<unsigned>(text[i] - '0');
    }
  }
  std::int64_t ns = 0;
  auto fraction = text.substr(19, text.size() - 20);
  if (!fraction.empty()) {
    if (fraction[0] != '.' || fraction.size() < 2) return std::nullopt;
    fraction.remove_prefix(1);
    for (int k = 0; k < 9; ++k) {
      const char c = static_cast<std::size_t>(k) < fraction.size() ? fraction[static_cast<std::size_t>(k)] : '0';
      if (c < '0' || c > '9') return std::nullopt;
      ns = ns * 10 + (c - '0');
    }
  }
  if (part[2] < 1 || part[2] > days_in_month(part[0], part[1]) || part[3] > 23 || part[4] > 59 || part[5] > 60)
    return std::nullopt;  // the 30th of February is no day
  if (part[0] < 1700 || part[0] > 2261) return std::nullopt;  // what fits into nanoseconds
  const std::int64_t s = days_from_civil(part[0], part[1], part[2]) * 86'400 + part[3] * 3600 + part[4] * 60 + part[5];
  return Time{s * 1'000'000'000 + ns};
}

std::string render_count(std::int64_t n) {
  return n < 0 ? "-" + grouped(std::to_string(-static_cast<double>(n) > 9e18 ? 0 : -n)) : grouped(std::to_string(n));
}

std::string render_decimal(double d, int decimals) {
  if (!std::isfinite(d)) return "-";
  std::string text = fmt::format("{:.{}f}", std::fabs(d), decimals);
  const auto dot = text.find('.');
  const std::string tail = dot == std::string::npos ? "" : text.substr(dot);
  const std::string out = grouped(text.substr(0, dot)) + tail;
  return d < 0 && out.find_first_not_of("0.,") != std::string::npos ? "-" + out : out;
}

std::string render_money(double amount, std::string_view currency) {
  return fmt::format("{} {}", render_decimal(amount, std::fabs(amount) < 100 ? 2 : 0), currency);
}

std::string counted(std::int64_t n, std::string_view one) {
  return fmt::format("{} {}{}", render_count(n), one, n == 1 ? "" : "s");
}

std::string render_span(Duration length) {
  const std::int64_t s = length.ns / 1'000'000'000;
  if (s < 0) return "-" + render_span(seconds(-s));
  struct Unit {
    std::int64_t size;
    char sign;
  };
  static constexpr Unit kUnits[] = {{86'400, 'd'}, {3'600, 'h'}, {60, 'm'}, {1, 's'}};
  for (std::size_t i = 0; i + 1 < std::size(kUnits); ++i) {
    if (s < kUnits[i].size) continue;
    const auto rest = s % kUnits[i].size / kUnits[i + 1].size;
    const auto first = fmt::format("{}{}", s / kUnits[i].size, kUnits[i].sign);
    return rest == 0 ? first : fmt::format("{} {}{}", first, rest, kUnits[i + 1].sign);
  }
  return fmt::format("{}s", s);
}

std::string render_ago(Time then, Time now) {
  const auto gap = now - then;
  if (gap.ns > -1'000'000'000 && gap.ns < 1'000'000'000) return "now";
  return gap.ns > 0 ? render_span(gap) + " ago" : "in " + render_span(then - now);
}

std::string render_percent(std::optional<double> share) {
  return share && std::isfinite(*share) ? fmt::format("{:.1f} %", *share * 100) : "-";
}

std::string text_of(const Value& object, std::string_view key) {
  const auto* v = object.find(key);
  if (!v) return "";
  if (const auto* s = v->string()) return *s;
  if (const auto* i = v->integer()) return std::to_string(*i);
  if (const auto* b = v->boolean()) return *b ? "true" : "false";
  double d = 0;
  return v->number(d) ? render_number(d) : "";
}

std::optional<double> number_of(const Value& object, std::string_view key) {
  const auto* v = object.find(key);
  double d = 0;
  if (!v || !v->number(d)) return std::nullopt;
  return d;
}

std::optional<Time> time_of(const Value& object, std::string_view key) {
  const auto* v = object.find(key);
  const auto* s = v ? v->string() : nullptr;
  return s ? parse_utc(*s) : std::nullopt;
}

const Value::Array& list_of(const Value& object, std::string_view key) {
  static const Value::Array empty;
  const auto* v = object.find(key);
  const auto* a = v ? v->array() : nullptr;
  return a ? *a : empty;
}

std::string upper(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

}  // namespace muster::report
