// Cooling of a row of racks: what its air does when the cooling unit cannot carry away what the row gives off.
#pragma once
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace muster::twin {

// A hot GPU at full load loses this share of its clock until it would be cool enough at full clock again.
constexpr double kHotClock = 0.5;
constexpr double kHotDraw = 0.5;  // its power above idle then
constexpr double kHotRelease_c = 84;
constexpr Duration kCoolingTick = seconds(15);

struct CoolingRow {
  std::vector<NodeId> nodes;
  double capacity = 1;  // share of what the unit can do
  double rise_c = 0;    // of the inlets, over what they would be
  Time at;              // steady, up to which rise_c is right
  bool moving = false;  // a tick is due
};

// How warm the inlets would become in the end, over normal, when the row gives off `heat` (share of its full heat) and the unit
// can do `capacity`. A unit carries away in proportion to how much warmer the air comes back than it sends it out; what it
// cannot carry at the normal difference makes the air warmer until it can.
double settled_rise_c(double heat, double capacity);
// The rise `dt` after it was `from` and began to move to `to`.
double row_relax(double from, double to, Duration dt);

// A power limit as a share of the board's limit: what is left of the power above idle, and of the speed.
double limited_draw(double limit);
double limited_speed(double limit);

}  // namespace muster::twin
