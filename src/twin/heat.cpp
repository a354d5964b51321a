#include "twin/heat.h"

#include <algorithm>

#include "base/hash.h"
#include "base/math.h"

namespace muster::twin {
namespace {

constexpr double kTau_s = 70;  // of a heat sink of this size
constexpr double kIdleRise_c = 9;
constexpr double kClockMax_mhz = 1980;

// The i-th byte of an identity as a number from -1 to 1.
double wobble(std::uint64_t identity, int i) {
  return static_cast<double>(identity >> (8 * i) & 0xff) / 127.5 - 1.0;
}

}  // namespace

Board board_of(std::uint64_t identity) {
  return {80 + 8 * wobble(identity, 0), 545 + 25 * wobble(identity, 1), 33 + 3 * wobble(identity, 2)};
}

double inlet_c(std::uint64_t rack_identity, Time utc) {
  constexpr std::int64_t kDay_s = 86400;
  const std::int64_t second = utc.ns / 1'000'000'000 % kDay_s;
  const double phase = 2 * 3.14159265358979323846 * (static_cast<double>(second) - 9 * 3600.0) / static_cast<double>(kDay_s);
  return 23 + 1.5 * wobble(rack_identity, 0) + 2.2 * det_sin(phase);  // warmest at 15:00
}

double relax(double from, double to, Duration dt) {
  const double t = dt.seconds();
  if (t <= 0) return from;
  if (t > 10 * kTau_s) return to;
  return to + (from - to) * det_exp(-t / kTau_s);
}

double gpu_temp_c(const Board& board, double inlet, double heat) { return inlet + kIdleRise_c + board.rise_c * heat; }

Reading read_sensors(const Board& board, double inlet, double load, double heat, double hot_c, double clock, double draw,
                     double speed) {
  Reading r;
  r.temp_c = gpu_temp_c(board, inlet, heat) + hot_c * heat;
  r.throttled = hot_c > 0 && r.temp_c >= kThrottleC && load > 0.5;
  const double share = r.throttled ? clock : 1.0;
  if (hot_c > 0) r.temp_c = std::min(r.temp_c, kThrottleC + 0.12 * hot_c);
  r.memory_temp_c = r.temp_c + 4 + 6 * heat;
  r.sm_clock_mhz = load > 0.02 ? kClockMax_mhz * share * speed - (load > 0.5 ? 30 : 0) : 345;
  r.power_w = board.idle_w + board.span_w * load * share * draw;
  return r;
}

}  // namespace muster::twin
