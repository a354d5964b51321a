// Heat and power of a GPU: what its sensors read, given the room, its load and its faults.
#pragma once
#include <cstdint>

#include "base/time.h"

namespace muster::twin {

constexpr double kMaterialTempC = 3;  // a smaller move is not worth a report
constexpr double kThrottleC = 88;     // a hot GPU holds this by lowering its clock

// What one board is like, for ever: no two run equally warm.
struct Board {
  double idle_w = 80;
  double span_w = 560;   // idle to full load
  double rise_c = 34;    // over the inlet, at full load
};
Board board_of(std::uint64_t identity);

// Temperature of the air a rack breathes: a slow wave over the day, and racks that differ.
double inlet_c(std::uint64_t rack_identity, Time utc);

// A node warms up and cools down with one time constant: its thermal load `dt` after it was `from` and began to move to `to`.
double relax(double from, double to, Duration dt);

double gpu_temp_c(const Board& board, double inlet, double heat);

struct Reading {
  double temp_c = 0;
  double memory_temp_c = 0;
  double power_w = 0;
  double sm_clock_mhz = 0;
  bool throttled = false;
};
// load: now, 0 to 1; heat: the thermal load that follows it; hot_c: what a cooling fault adds at full load; clock: share of
// the clock left by a cooling fault. draw: power above idle, and speed: of the clock, left by a power limit or a hot row.
Reading read_sensors(const Board& board, double inlet, double load, double heat, double hot_c, double clock, double draw = 1,
                     double speed = 1);

}  // namespace muster::twin
