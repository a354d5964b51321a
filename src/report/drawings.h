// Drawings that reports of a week and of a month share: the fall from all that is installed to what was useful, and the lines
// behind bars of days.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::report {

// Every drawing is made twice: what is drawn for a wide screen cannot be read on a telephone.
struct Canvas {
  double width;
  double fall_left, fall_right, days_left;  // beside the bars, for their names and figures
  std::size_t labels;                       // below the days: more would touch
  std::string_view suffix, kind;            // of its id, and of its class
};
inline constexpr Canvas kWide = {960, 120, 130, 120, 12, "", "wide"};
inline constexpr Canvas kNarrow = {380, 92, 112, 56, 3, "_narrow", "narrow"};

struct FallBar {
  std::string name;
  std::string_view colour;     // a class of the style sheet
  std::int64_t amount_us = 0;  // GPU-microseconds; below 0: the level rises
  std::string figure;          // beside it
};
// Every class takes its part of what the ones above it have left. The first bar is all there is. `label`: for who cannot see it.
std::string draw_fall(const std::vector<FallBar>& bars, const Canvas& canvas, std::string_view label);
// Lines at 0, half and `most`, in percent.
std::string draw_marks(const Canvas& canvas, double top, double height, double most);

}  // namespace muster::report
