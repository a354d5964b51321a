#include "decide/energy/heat.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace muster::decide {
namespace {

constexpr double kMargin_c = 3;   // the hottest GPU is kept this far below the throttle point ...
constexpr double kSlack_c = 7;    // ... and a limit is lifted when it would stay this far below
constexpr double kAhead_min = 4;  // heat under way in the air and the heat sinks: what comes whatever is done now
constexpr double kPctPerC = 1.2;  // of power, for one degree less in the end
constexpr std::uint32_t kStepDownMax = 15;
constexpr std::uint32_t kStepUp = 4;
constexpr Duration kSettle = minutes(2);    // between two steps down: a limit needs time to show
constexpr Duration kSettleUp = minutes(6);  // before a step up: slower, or the row would swing

struct Point {
  double pct, speed;
};
constexpr std::array<Point, 5> kCurve = {{{42.9, 0.440}, {57.0, 0.644}, {70.7, 0.834}, {84.9, 0.934}, {99.0, 1.0}}};

}  // namespace

double speed_at_limit(std::uint32_t limit_pct) {
  const auto pct = static_cast<double>(limit_pct);
  if (pct >= kCurve.back().pct) return 1;
  if (pct <= kCurve.front().pct) return kCurve.front().speed * pct / kCurve.front().pct;
  std::size_t i = 1;
  while (pct > kCurve[i].pct) ++i;
  const Point& a = kCurve[i - 1];
  const Point& b = kCurve[i];
  return a.speed + (b.speed - a.speed) * (pct - a.pct) / (b.pct - a.pct);
}

std::uint32_t wanted_limit(const RowHeat& row, double throttle_c, Time now) {
  const bool first = row.limited.ns == 0;
  // A fall of the trend is not trusted: it may be the limit's own doing.
  const double ahead = row.last.hottest_c + std::max(0.0, row.last.trend_c_per_min) * kAhead_min;
  const double over = ahead - (throttle_c - kMargin_c);
  if (over > 0) {
    if (!first && now - row.limited < kSettle) return row.limit_pct;
    const auto down = static_cast<std::uint32_t>(std::ceil(over * kPctPerC));
    const std::uint32_t step = std::clamp<std::uint32_t>(down, 2, kStepDownMax);
    return std::max(kLimitFloorPct, row.limit_pct - std::min(row.limit_pct, step));
  }
  if (row.limit_pct >= 100 || now - row.limited < kSettleUp) return row.limit_pct;
  if (ahead > throttle_c - kSlack_c) return row.limit_pct;
  return std::min(100U, row.limit_pct + kStepUp);
}

void decide_heat(const State& s, Decisions& out) {
  if (s.idle() || !s.policy.heat_aware) return;
  for (const std::uint32_t row : s.dirty_rows) {
    const auto it = s.hot_rows.find(row);
    if (it == s.hot_rows.end()) continue;
    const RowHeat& r = it->second;
    // Over, but for the limit: it is lifted whole.
    const std::uint32_t want = r.finding.some() ? wanted_limit(r, s.policy.temp_throttle_c, s.mono()) : 100;
    if (want == r.limit_pct && !r.again) continue;
    Wanted w;
    w.action.verb = Verb::limit_power;
    w.action.limit_pct = want;
    for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
      if (row_of(s.site, NodeId{n}) == row && s.nodes[n].condition == NodeCondition::up) w.action.nodes.push_back(NodeId{n});
    }
    if (w.action.nodes.empty()) continue;
    w.reason.rule = want < r.limit_pct ? "energy/heat/limit" : "energy/heat/lift";
    w.reason.sentence = fmt::format(
        "row {} breathes {:.1f} C, {:+.1f} C a minute, its hottest GPU has {:.0f} C: power from {} to {} percent, which leaves "
        "{:.0f} "
        "percent of the speed",
        row + 1, r.last.inlet_c, r.last.trend_c_per_min, r.last.hottest_c, r.limit_pct, want, 100 * speed_at_limit(want));
    w.reason.alternatives = {want < r.limit_pct
                                 ? "wait: GPUs that throttle lose far more speed, and every gang waits for its slowest"
                                 : "lift it at once: the row would swing"};
    if (r.finding.some()) w.reason.findings = {r.finding};
    w.reason.actor = "muster";
    out.push_back(std::move(w));
  }
}

std::uint8_t heat_cost(const State& s, NodeId n) {
  if (!s.policy.heat_aware || s.hot_rows.empty()) return 0;
  const auto it = s.hot_rows.find(row_of(s.site, n));
  if (it == s.hot_rows.end()) return 0;
  constexpr double kLeast = 40;
  return static_cast<std::uint8_t>(std::min(255.0, kLeast + 400 * (1 - speed_at_limit(it->second.limit_pct))));
}

}  // namespace muster::decide
