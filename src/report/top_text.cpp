#include "report/top_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/units.h"

namespace muster::report::top {
namespace {

// Bytes of valid UTF-8 that fit into `width` columns. A letter under a heap of combining marks does not get them all.
std::size_t fitting(std::string_view text, std::size_t width) {
  std::size_t at = 0, used = 0;
  const std::size_t most = 8 * width + 16;
  while (at < text.size()) {
    std::size_t next = at + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    used += display_width(text.substr(at, next - at));
    if (used > width || next > most) break;
    at = next;
  }
  return at;
}

}  // namespace

std::int64_t count_of(const Value& v, std::string_view key) {
  const double n = number_of(v, key).value_or(0);
  return n > 0 && n < 9e15 ? static_cast<std::int64_t>(n) : 0;
}

void add_cut(std::string_view text, std::size_t width, Lines& to) {
  do {
    std::size_t n = fitting(text, width);
    for (n = std::max<std::size_t>(n, 1); n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80;) ++n;
    n = std::min(n, text.size());
    to.emplace_back(text.substr(0, n));
    text.remove_prefix(n);
  } while (!text.empty());
}

std::string clip(std::string_view text, std::size_t width, bool blocks) {
  if (fitting(text, width) == text.size()) return std::string(text);
  if (width == 0) return "";
  return std::string(text.substr(0, fitting(text, width - 1))) + (blocks ? "…" : "~");
}

std::string tint(std::string_view text, Tone tone, bool colour) {
  static constexpr std::string_view kCodes[] = {"", "\x1b[94m", "\x1b[33m", "\x1b[31m", "\x1b[2m"};
  if (!colour || tone == Tone::plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", kCodes[static_cast<std::size_t>(tone)], text);
}

Piece words(const TopView& v, std::string_view text, Tone tone) {
  const std::string shown = clip(printable(text), v.width, v.blocks);
  return {tint(shown, tone, v.colour), display_width(shown)};
}

Piece badge(const TopView& v, std::string_view text, Tone tone) {
  const std::string shown = clip(printable(text), v.width > 2 ? v.width - 2 : 0, v.blocks);
  const std::string around = v.colour ? " " + shown + " " : "[" + shown + "]";
  return {v.colour ? "\x1b[7m" + tint(around, tone, true) + "\x1b[0m" : around, display_width(around)};
}

Lines flow(const std::vector<Piece>& pieces, std::size_t width, std::size_t most) {
  Lines out;
  std::size_t used = 0;
  for (const Piece& p : pieces) {
    if (p.width == 0 || p.width > width) continue;
    if (out.empty() || used + 2 + p.width > width) {
      if (out.size() == most) break;
      out.emplace_back();
      used = 0;
    }
    if (used > 0) out.back() += "  ";
    used += (used > 0 ? 2 : 0) + p.width;
    out.back() += p.text;
  }
  return out;
}

const GpuState* state_of(char letter) {
  for (const GpuState& s : kStates) {
    if (s.letter == letter) return &s;
  }
  return nullptr;
}

std::string glyph(char letter, bool blocks) {
  if (letter == 'b') return blocks ? "█" : "#";
  if (letter == 'i') return blocks ? "░" : ".";
  return state_of(letter) != nullptr ? std::string(1, letter) : "?";
}

Cell cell(std::string text, Tone tone) {
  return text.empty() || text == "0" ? Cell("-", Tone::dim) : Cell(std::move(text), tone);
}

}  // namespace muster::report::top
