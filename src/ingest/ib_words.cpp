#include "ingest/ib_words.h"

#include "base/text.h"

namespace muster {
namespace {

// Gigabits a second of one lane, of data.
struct Speed {
  std::string_view name;
  double gbit_s;
};
constexpr Speed kSpeeds[] = {{"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 13.64},
                             {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};

}  // namespace

std::optional<std::string_view> take_between(std::string_view& text, char open, char close) {
  const std::size_t a = text.find(open);
  if (a == std::string_view::npos) return {};
  const std::size_t b = text.find(close, a + 1);
  if (b == std::string_view::npos) return {};
  const std::string_view inside = text.substr(a + 1, b - a - 1);
  text.remove_prefix(b + 1);
  return inside;
}

std::string_view without_details(std::string_view line) {
  for (;;) {
    line = trim(line);
    const std::size_t space = line.find_last_of(" \t");
    const std::string_view last = line.substr(space == std::string_view::npos ? 0 : space + 1);
    if (last.size() < 3 || last[0] < 'a' || last[0] > 'z' || last[1] != '=' || !parse_uint(last.substr(2))) return line;
    line.remove_suffix(last.size());
  }
}

IbRate rate_at_end(std::string_view line) {
  line = without_details(line);
  const std::size_t x = line.rfind('x');
  if (x == std::string_view::npos) return {};
  const std::size_t space = line.find_last_of(" \t", x);
  const std::size_t begin = space == std::string_view::npos ? 0 : space + 1;
  const auto lanes = parse_uint(line.substr(begin, x - begin));
  const std::string_view name = trim(line.substr(x + 1));
  if (!lanes || *lanes > 255) return {};
  for (const Speed& s : kSpeeds) {
    if (s.name == name) return {static_cast<std::uint8_t>(*lanes), static_cast<double>(*lanes) * s.gbit_s / 8};
  }
  return {};
}

}  // namespace muster
