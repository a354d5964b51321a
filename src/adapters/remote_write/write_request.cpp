// Written by hand: the message has four fields in all, and a snappy block of literals alone is a valid one. Some 20 KB every
// quarter of a minute are not worth protobuf's code generator and a compressor.
#include "adapters/remote_write/write_request.h"

#include <bit>
#include <optional>

#include "base/text.h"

namespace muster {
namespace {

void put_varint(std::string& out, std::uint64_t v) {
  while (v >= 0x80) {
    out += static_cast<char>((v & 0x7f) | 0x80);
    v >>= 7;
  }
  out += static_cast<char>(v);
}

void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

struct Line {
  std::map<std::string, std::string> labels;  // sorted by name, as the protocol wants them
  double value = 0;
};

// name="value", with \\, \" and \n undone. False: malformed.
bool read_labels(std::string_view& s, std::map<std::string, std::string>& out) {
  while (!s.empty() && s.front() != '}') {
    const auto equals = s.find("=\"");
    if (equals == std::string_view::npos || equals == 0) return false;
    std::string& value = out[std::string(s.substr(0, equals))];
    s.remove_prefix(equals + 2);
    while (!s.empty() && s.front() != '"') {
      char c = s.front();
      if (c == '\\' && s.size() > 1) {
        s.remove_prefix(1);
        c = s.front() == 'n' ? '\n' : s.front();
      }
      value += c;
      s.remove_prefix(1);
    }
    if (s.empty()) return false;
    s.remove_prefix(1);
    if (!s.empty() && s.front() == ',') s.remove_prefix(1);
  }
  if (s.empty()) return false;
  s.remove_prefix(1);
  return true;
}

std::optional<Line> read_line(std::string_view s) {
  Line line;
  const auto end = s.find_first_of("{ ");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  const std::string name(s.substr(0, end));
  s.remove_prefix(end);
  if (s.front() == '{') {
    s.remove_prefix(1);
    if (!read_labels(s, line.labels)) return std::nullopt;
  }
  const auto value = parse_double(trim(s));
  if (!value) return std::nullopt;
  line.value = *value;
  line.labels["__name__"] = name;
  return line;
}

}  // namespace

WriteRequest encode_write(std::string_view page, std::int64_t at_ms, const std::map<std::string, std::string>& more) {
  WriteRequest out;
  for (const std::string_view text : split(page, '\n')) {
    if (text.empty() || text.front() == '#') continue;
    auto line = read_line(text);
    if (!line) {
      ++out.unread;
      continue;
    }
    line->labels.insert(more.begin(), more.end());
    std::string series;
    for (const auto& [name, value] : line->labels) {
      std::string label;
      put_bytes(label, 1, name);
      put_bytes(label, 2, value);
      put_bytes(series, 1, label);
    }
    std::string sample(1, static_cast<char>(1 << 3 | 1));  // a double, little-endian
    const auto bits = std::bit_cast<std::uint64_t>(line->value);
    for (int i = 0; i < 8; ++i) sample += static_cast<char>(bits >> (8 * i) & 0xff);
    put_varint(sample, 2 << 3 | 0);
    put_varint(sample, static_cast<std::uint64_t>(at_ms));
    put_bytes(series, 2, sample);
    put_bytes(out.bytes, 1, series);
    ++out.samples;
  }
  return out;
}

std::string to_snappy(std::string_view bytes) {
  std::string out;
  put_varint(out, bytes.size());
  constexpr std::size_t kLiteralMax = 1 << 16;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kLiteralMax);
    const std::size_t n = piece.size() - 1;
    if (n < 60) {
      out += static_cast<char>(n << 2);
    } else {  // 61: the length follows in two bytes
      out += static_cast<char>(61 << 2);
      out += static_cast<char>(n & 0xff);
      out += static_cast<char>(n >> 8);
    }
    out += piece;
    bytes.remove_prefix(piece.size());
  }
  return out;
}

}  // namespace muster
