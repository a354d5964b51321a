#include "twin/cooling.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/math.h"
#include "twin/cluster.h"

namespace muster::twin {
namespace {

constexpr double kReturn_c = 20;        // air comes back this much warmer than it goes out, at full heat and full capacity
constexpr double kRowTau_s = 360;       // air, racks and walls of a row
constexpr double kIdleOfLimit = 0.115;  // 80 W of 700 W
constexpr double kCalm_c = 0.05;        // a smaller rise is none
constexpr double kSpare = 1.05;         // a healthy unit carries a little more than the row's full heat

// Measured on an H200: share of its limit, share of its speed (a matrix product with random data).
struct Point {
  double limit, speed;
};
constexpr std::array<Point, 5> kCurve = {{{0.429, 0.440}, {0.570, 0.644}, {0.707, 0.834}, {0.849, 0.934}, {0.99, 1.0}}};

}  // namespace

double settled_rise_c(double heat, double capacity) {
  return std::max(0.0, kReturn_c * (heat / std::max(0.05, capacity * kSpare) - 1));
}

double row_relax(double from, double to, Duration dt) { return to + (from - to) * det_exp(-dt.seconds() / kRowTau_s); }

double limited_draw(double limit) { return std::clamp((limit - kIdleOfLimit) / (1 - kIdleOfLimit), 0.0, 1.0); }

double limited_speed(double limit) {
  if (limit >= kCurve.back().limit) return 1;
  if (limit <= kCurve.front().limit) return kCurve.front().speed * limit / kCurve.front().limit;
  std::size_t i = 1;
  while (limit > kCurve[i].limit) ++i;
  const Point& a = kCurve[i - 1];
  const Point& b = kCurve[i];
  return a.speed + (b.speed - a.speed) * (limit - a.limit) / (b.limit - a.limit);
}

void Cluster::make_rows() {
  if (config.site.rack_row.empty()) return;
  rows.resize(*std::max_element(config.site.rack_row.begin(), config.site.rack_row.end()) + 1);
  for (std::uint32_t i = 0; i < nodes.size(); ++i) rows[row_of(config.site, NodeId{i})].nodes.push_back(NodeId{i});
}

void Cluster::set_cooling(std::uint32_t row, double capacity) {
  CoolingRow& r = rows[row];
  r.capacity = capacity;
  if (r.moving) return;
  r.moving = true;
  r.at = now;
  queue.push(now + kCoolingTick, Tick::cooling, row);
}

// Seconds until it begins to be mended.
double Cluster::show_cooling(std::uint32_t f) {
  Prng& prng = live[f].prng;
  live[f].severity = static_cast<float>(0.25 + 0.12 * prng.unit());
  set_cooling(static_cast<std::uint32_t>(faults[f].slot), static_cast<double>(live[f].severity));
  return 3600 * (3 + 3 * prng.unit());
}

// A step; false when it is whole again.
bool Cluster::mend_cooling(std::uint32_t f) {
  constexpr float kStep = 0.1F;
  live[f].severity += kStep;
  if (live[f].severity >= 1) {
    end_fault(f, Fate::self_cleared);
    return false;
  }
  set_cooling(static_cast<std::uint32_t>(faults[f].slot), static_cast<double>(live[f].severity));
  return true;
}

double Cluster::row_heat(const CoolingRow& r) const {
  double sum = 0;
  for (const NodeId n : r.nodes) {
    const Node& x = nodes[n.v];
    if (x.life == Life::away || x.life == Life::crashed) continue;
    sum += kIdleOfLimit + (1 - kIdleOfLimit) * heat_now(x);
  }
  return r.nodes.empty() ? 0 : sum / static_cast<double>(r.nodes.size());
}

void Cluster::cool_row(std::uint32_t row) {
  CoolingRow& r = rows[row];
  const Duration passed = now - r.at;
  r.rise_c = row_relax(r.rise_c, settled_rise_c(row_heat(r), r.capacity), passed);
  r.at = now;
  const bool over = r.capacity >= 1 && r.rise_c < kCalm_c;
  if (over) r.rise_c = 0;
  for (const NodeId n : r.nodes) heat_gpus(n, passed);
  r.moving = !over;
  if (!over) queue.push(now + kCoolingTick, Tick::cooling, row);
}

// GPUs of a node in a row with cooling trouble: who throttles, who no longer does.
void Cluster::heat_gpus(NodeId n, Duration passed) {
  Node& x = node(n);
  if (x.life != Life::up) return;
  const double inlet = inlet_now(n);
  const double left = limited_draw(static_cast<double>(x.limit));
  bool changed = false;
  std::uint16_t throttled = 0;
  for (std::uint32_t s = 0; s < per_node; ++s) {
    Gpu& g = gpu(n, static_cast<int>(s));
    const Board board = board_of(identity(n, static_cast<int>(s)));
    const double load = gpu_load(n, static_cast<int>(s));
    const bool loaded = load > 0.5 && !g.lost;
    bool hot = g.row_hot;
    if (!hot && loaded && gpu_temp_c(board, inlet, gpu_heat(n, static_cast<int>(s))) >= kThrottleC) hot = true;
    if (hot && (!loaded || gpu_temp_c(board, inlet, load * left) < kHotRelease_c)) hot = false;
    changed = changed || hot != g.row_hot;
    g.row_hot = hot;
    if (!hot) continue;
    ++throttled;
    g.thermal_us += static_cast<std::uint64_t>(passed.ns / 1000);
    tell(n, static_cast<int>(s), kCounters);
  }
  count.throttled_gpu_ms += static_cast<std::uint64_t>(throttled) * static_cast<std::uint64_t>(passed.ns / 1'000'000);
  if (changed) update_draw(n);
  tell(n, -1, changed ? kLoad | kTemp : kTemp);
}

void Cluster::update_draw(NodeId n) {
  Node& x = node(n);
  std::uint32_t hot = 0;
  for (std::uint32_t s = 0; s < per_node; ++s) hot += gpu(n, static_cast<int>(s)).row_hot ? 1 : 0;
  for (std::uint32_t s = 0; x.split != kNone && s < per_node; ++s) {
    splits[x.split].heat_from[s] = static_cast<float>(gpu_heat(n, static_cast<int>(s)));
  }
  x.heat_from = static_cast<float>(heat_now(x));
  x.heat_at = now;
  const double share = static_cast<double>(hot) / per_node;
  x.draw = static_cast<float>(limited_draw(static_cast<double>(x.limit)) * (1 - share * (1 - kHotDraw)));
  x.warming = true;
  update_speed(n);
  tell(n, -1, kLoad | kTemp);
}

void Cluster::limit_power(NodeId n, double share) {
  if (node(n).limit == static_cast<float>(share)) return;
  node(n).limit = static_cast<float>(share);
  update_draw(n);
}

}  // namespace muster::twin
