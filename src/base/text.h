// Text from and for people and machines. Names of jobs, nodes and metrics are untrusted: `printable` before a terminal sees them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

bool valid_utf8(std::string_view s);
// Each invalid byte becomes U+FFFD.
std::string to_valid_utf8(std::string_view s);
// Control characters (C0, C1), bidirectional overrides and invalid bytes shown as \xNN or \u{NNNN}.
std::string printable(std::string_view s);
// Its first `most` bytes at most; no character of well-formed text is cut in two.
std::string_view clipped(std::string_view s, std::size_t most);
// Shortest decimal that reads back as the same double; "3" rather than "3.0"; the same on every platform.
std::string render_number(double d);

std::vector<std::string_view> split(std::string_view s, char separator);
std::string_view trim(std::string_view s);
std::string lower(std::string_view s);  // of ASCII's letters only
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// Whole string must be a number.
std::optional<std::int64_t> parse_int(std::string_view s);
std::optional<std::uint64_t> parse_uint(std::string_view s);
std::optional<double> parse_double(std::string_view s);
std::optional<std::uint64_t> parse_hex(std::string_view s);  // with or without "0x"
// "90", "90s", "15m", "2h", "7d", "250ms": a bare number is seconds. Result in nanoseconds.
std::optional<std::int64_t> parse_duration_ns(std::string_view s);
// The candidate closest to `word` by edit distance (at most 3), for "did you mean".
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace muster
