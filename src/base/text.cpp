#include "base/text.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

namespace muster {
namespace {

// Length of the well-formed UTF-8 sequence at s[i], 0 when malformed; sets the code point.
std::size_t sequence_at(std::string_view s, std::size_t i, std::uint32_t& cp) {
  const auto b = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned char c = b(i);
  if (c < 0x80) {
    cp = c;
    return 1;
  }
  const std::size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
  if (n == 0 || c > 0xF4 || i + n > s.size()) return 0;
  cp = c & (0xFF >> (n + 1));
  for (std::size_t k = 1; k < n; ++k) {
    if ((b(i + k) & 0xC0) != 0x80) return 0;
    cp = (cp << 6) | (b(i + k) & 0x3F);
  }
  const bool overlong = (n == 3 && cp < 0x800) || (n == 4 && cp < 0x10000);
  const bool surrogate = cp >= 0xD800 && cp <= 0xDFFF;
  return overlong || surrogate || cp > 0x10FFFF ? 0 : n;
}

bool steers_terminal(std::uint32_t cp) {
  return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || cp == 0x200E || cp == 0x200F || (cp >= 0x202A && cp <= 0x202E) ||
         (cp >= 0x2066 && cp <= 0x2069);
}

}  // namespace

bool valid_utf8(std::string_view s) {
  std::uint32_t cp = 0;
  for (std::size_t i = 0; i < s.size();) {
    if (static_cast<unsigned char>(s[i]) < 0x80) {
      ++i;
      continue;
    }
    const std::size_t n = sequence_at(s, i, cp);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

std::string_view clipped(std::string_view s, std::size_t most) {
  if (s.size() <= most) return s;
  while (most > 0 && (static_cast<unsigned char>(s[most]) & 0xC0) == 0x80) --most;
  return s.substr(0, most);
}

std::string to_valid_utf8(std::string_view s) {
  std::string out;
  std::uint32_t cp = 0;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t n = sequence_at(s, i, cp);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
    } else {
      out.append(s.substr(i, n));
      i += n;
    }
  }
  return out;
}

std::string printable(std::string_view s) {
  std::string out;
  std::uint32_t cp = 0;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t n = sequence_at(s, i, cp);
    if (n == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(s[i]));
      ++i;
      continue;
    }
    if (steers_terminal(cp)) {
      out += cp < 0x80 ? fmt::format("\\x{:02x}", cp) : fmt::format("\\u{{{:04x}}}", cp);
    } else {
      out.append(s.substr(i, n));
    }
    i += n;
  }
  return out;
}

std::string render_number(double d) {
  if (d == 0.0) return "0";
  char buf[64];
  if (std::floor(d) == d && std::fabs(d) < 1e15) {
    const auto r = std::to_chars(buf, buf + sizeof buf, static_cast<std::int64_t>(d));
    return {buf, r.ptr};
  }
  const auto r = std::to_chars(buf, buf + sizeof buf, d);
  return {buf, r.ptr};
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  for (std::size_t at = s.find(separator); at != std::string_view::npos; at = s.find(separator, from)) {
    parts.push_back(s.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(s.substr(from));
  return parts;
}

std::string_view trim(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const auto& p : parts) {
    if (!out.empty()) out += separator;
    out += p;
  }
  return out;
}

namespace {
template <class T>
std::optional<T> parse_whole(std::string_view s) {
  T v{};
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  if (r.ec != std::errc{} || r.ptr != s.data() + s.size()) return std::nullopt;
  return v;
}
}  // namespace

std::optional<std::int64_t> parse_int(std::string_view s) { return parse_whole<std::int64_t>(s); }
std::optional<std::uint64_t> parse_uint(std::string_view s) { return parse_whole<std::uint64_t>(s); }
std::optional<double> parse_double(std::string_view s) { return parse_whole<double>(s); }
std::optional<std::uint64_t> parse_hex(std::string_view s) {
  if (s.substr(0, 2) == "0x") s.remove_prefix(2);
  std::uint64_t v = 0;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v, 16);
  return r.ec == std::errc{} && r.ptr == s.data() + s.size() ? std::optional(v) : std::nullopt;
}

std::optional<std::int64_t> parse_duration_ns(std::string_view s) {
  double unit = 1e9;
  const auto ends = [&](std::string_view u, double ns) {
    if (s.size() <= u.size() || s.substr(s.size() - u.size()) != u) return false;
    s.remove_suffix(u.size());
    unit = ns;
    return true;
  };
  if (!ends("ms", 1e6) && !ends("s", 1e9) && !ends("m", 60e9) && !ends("h", 3600e9)) ends("d", 86400e9);
  const auto v = parse_double(s);
  if (!v || !(*v >= 0.0) || *v * unit > 9.2e18) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(*v * unit));
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = 4;
  for (const auto& c : candidates) {
    std::vector<std::size_t> row(c.size() + 1);
    for (std::size_t j = 0; j <= c.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= c.size(); ++j) {
        const std::size_t up = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (word[i - 1] == c[j - 1] ? 0 : 1)});
        diagonal = up;
      }
    }
    if (row[c.size()] < best_distance && 2 * row[c.size()] <= std::max(word.size(), c.size())) {
      best_distance = row[c.size()];
      best = c;
    }
  }
  return best;
}

}  // namespace muster
