// What the parts of `muster top`'s screen are made of: words of a given width, colours, and the letters of GPU states. For
// report/top.cpp and its parts.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "report/table.h"
#include "report/top.h"

namespace muster::report::top {

using Lines = std::vector<std::string>;

std::int64_t count_of(const Value& v, std::string_view key);

// Cut into pieces that fit, whatever blanks it has.
void add_cut(std::string_view text, std::size_t width, Lines& to);
std::string clip(std::string_view text, std::size_t width, bool blocks);

// Blue is work and yellow or red trouble, as on the page: people who do not tell red from green tell these apart.
std::string tint(std::string_view text, Tone tone, bool colour);

// A few words that stay together on a line.
struct Piece {
  std::string text;  // with colour
  std::size_t width = 0;
};
Piece words(const TopView& v, std::string_view text, Tone tone = Tone::plain);
// Not to be overlooked, in black and white too.
Piece badge(const TopView& v, std::string_view text, Tone tone);

// Pieces side by side, on as many lines as they need; what does not fit into `most` lines is left out, the last first.
Lines flow(const std::vector<Piece>& pieces, std::size_t width, std::size_t most);

struct GpuState {
  char letter;
  std::string_view name;
  Tone tone;
  int colour;  // of 16; +10 for the ground behind
};
// In the order of the bar.
constexpr GpuState kStates[] = {{'b', "busy", Tone::good, 94},     {'i', "idle", Tone::dim, 90},
                                {'s', "suspect", Tone::warn, 93},  {'r', "repairing", Tone::warn, 33},
                                {'d', "drained", Tone::plain, 37}, {'x', "down", Tone::bad, 31},
                                {'l', "lost", Tone::bad, 31}};

const GpuState* state_of(char letter);
// Work and rest are shades, so that the letters of trouble stand out.
std::string glyph(char letter, bool blocks);

Cell cell(std::string text, Tone tone = Tone::plain);

}  // namespace muster::report::top
