#include "ingest/step_log_text.h"

#include <cctype>
#include <cmath>

#include "base/text.h"

namespace muster::step_text {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool has(std::string_view s, std::string_view what) { return s.find(what) != std::string_view::npos; }

// The number that text begins with, blanks before it and commas in it ("7,890") passed over; none: it is not finite, or none.
std::optional<double> number_at(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  std::string plain;
  for (const char c : s.substr(0, 40)) {
    if (c == ',' && !plain.empty()) continue;
    if (!digit(c) && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+') break;
    plain += c;
  }
  while (!plain.empty() && !digit(plain.back()) && plain.back() != '.') plain.pop_back();
  const auto n = parse_double(plain);
  return n && std::isfinite(*n) ? n : std::nullopt;
}
// What follows the first of `key`, if it is a number that is at least 0.
std::optional<double> after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + key.size());
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == ':' || rest.front() == '=')) rest.remove_prefix(1);
  const auto n = number_at(rest);
  return n && *n >= 0 ? n : std::nullopt;
}
std::uint32_t count_of(std::optional<double> n) { return n && *n >= 0 && *n <= 1e9 ? static_cast<std::uint32_t>(*n) : 0; }
std::optional<std::uint64_t> step_of(std::optional<double> n) {
  return n && *n >= 0 && *n <= 1e15 ? std::optional(static_cast<std::uint64_t>(*n)) : std::nullopt;
}

// Seconds since 1970 by the first date and time near the line's beginning ("2023-11-29 08:51:11,651"); 0: there is none.
double stamp_of(std::string_view line) {
  const std::string_view s = line.substr(0, 120);
  for (std::size_t i = 0; i + 19 <= s.size(); ++i) {
    if (s[i] != '2' || s[i + 1] != '0' || s[i + 4] != '-' || s[i + 7] != '-' || s[i + 13] != ':' || s[i + 16] != ':') continue;
    const auto two = [&](std::size_t at) {
      return digit(s[i + at]) && digit(s[i + at + 1]) ? (s[i + at] - '0') * 10 + s[i + at + 1] - '0' : -1;
    };
    const int y = two(2), m = two(5), d = two(8), h = two(11), min = two(14), sec = two(17);
    if (y < 0 || m < 1 || m > 12 || d < 1 || d > 31 || h < 0 || min < 0 || sec < 0) continue;
    const int year = 2000 + y - (m <= 2 ? 1 : 0);
    const int days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1 - 719468;
    double out = days * 86400.0 + h * 3600 + min * 60 + sec;
    if (i + 19 < s.size() && (s[i + 19] == ',' || s[i + 19] == '.')) {
      double unit = 0.1;
      for (std::size_t at = i + 20; at < s.size() && digit(s[at]); ++at, unit /= 10) out += unit * (s[at] - '0');
    }
    return out;
  }
  return 0;
}

// What a launcher puts before each line of a rank or host: "[1,0]<stdout>:", "[default0]:", "[rank0]:", "vm-07-05: ", "3: ".
std::string_view launcher_tag(std::string_view line) {
  std::size_t n = 0;
  if (line.starts_with('[')) {
    const std::size_t close = line.substr(0, 40).find(']');
    if (close == std::string_view::npos || has(line.substr(0, close), "-")) return {};  // a date
    n = close + 1;
    if (line.substr(n).starts_with("<std")) n = line.substr(0, n + 12).find('>', n) + 1;
  } else {
    while (n < line.size() && n < 64 && (name_char(line[n]) || line[n] == '-' || line[n] == '.' || line[n] == '/')) ++n;
  }
  if (n == 0 || n >= line.size() || line[n] != ':') return {};
  ++n;
  if (n < line.size() && line[n] == ' ') ++n;
  return line.substr(0, n);
}

std::string without_escapes(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') ++i;
    while (i + 1 < line.size() && (digit(line[i + 1]) || line[i + 1] == ';')) ++i;
    ++i;  // the letter that ends it
  }
  return out;
}

std::optional<Dotted> dotted(std::string_view line) {
  const std::size_t dots = line.find(" ..");
  if (dots == std::string_view::npos) return {};
  std::size_t from = dots;
  while (from > 0 && (name_char(line[from - 1]) || line[from - 1] == '-' || line[from - 1] == '/')) --from;
  std::size_t to = dots + 1;
  while (to < line.size() && line[to] == '.') ++to;
  if (from == dots || dots - from > 128) return {};
  return Dotted{line.substr(from, dots - from), line.substr(to)};
}

}  // namespace muster::step_text
