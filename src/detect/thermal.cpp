#include "detect/thermal.h"

#include <fmt/core.h>

#include <cmath>

namespace muster::detect {
namespace {
constexpr std::uint32_t kSoftThermal = 0x20;  // NVML's bits
constexpr std::uint32_t kHardThermal = 0x40;
constexpr std::uint8_t kSoftSamples = 3;  // the software slows down for a moment on a hot day
constexpr double kThrottledShare = 0.1;   // of the time
constexpr Duration kViolationWindow = minutes(5);

constexpr Duration kTrendAfter = minutes(15);
constexpr Duration kWarmUp = minutes(10);
constexpr Duration kTrendMax = minutes(40);  // then a new beginning
constexpr float kClimbed = 4;                // degrees
constexpr double kSoon_min = 60;
constexpr float kSamePower = 0.08F;

constexpr float kHotter = 18;  // than its neighbours; those in the warm air of others are up to ten hotter by design
constexpr std::uint8_t kHotSamples = 5;

// Whether a job has the GPU that was measured.
bool at_work(const State& s, const Sample& m) {
  const auto& shares = s.nodes[m.node.v].shares;
  return std::any_of(shares.begin(), shares.end(), [&](const Share& x) { return m.slot < 0 || (x.slots >> m.slot & 1) != 0; });
}

void predict(const Sample& m, int percent, std::string text, Signs& out) {
  out.see(FindingKind::failure_predicted, Severity::info, m.node, m.slot, Witness::scrape, m.at, std::move(text));
  out.seen.back().code = percent;
}
}  // namespace

Thermal::Thermal(const Site& site) : slots_(site.gpus_per_node), gpus_(site.nodes.size() * site.gpus_per_node) {}

void Thermal::on_trend(Gpu& g, const Sample& m, const Gauges::Gpu& now, const State& s, Time mono, Signs& out) {
  const auto temp = static_cast<float>(m.value);
  const bool steady = g.since.ns != 0 && now.busy() && std::abs(now.power_w - g.then_w) <= kSamePower * g.then_w;
  if (!steady || mono - g.since > kTrendMax) {
    g.since = now.busy() && now.power_w > 0 ? mono : Time{};
    g.then_c = temp;
    g.then_w = now.power_w;
    g.halfway_c = 0;
    return;
  }
  // A job's beginning warms a GPU up for a few minutes: only what goes on climbing after that is a trend.
  if (g.halfway_c == 0 && mono - g.since >= kWarmUp) g.halfway_c = temp;
  if (mono - g.since < kTrendAfter || temp - g.then_c < kClimbed || temp - g.halfway_c < kClimbed / 3) return;
  const double per_min = static_cast<double>(temp - g.then_c) / ((mono - g.since).seconds() / 60);
  const double left_min = (s.policy.temp_throttle_c - m.value) / per_min;
  if (left_min <= 0 || left_min > kSoon_min) return;
  predict(m, left_min < 20 ? 80 : 60,
          fmt::format("{:.0f} C and rising {:.1f} C a minute at the same power: throttles in {:.0f} minutes if it goes on",
                      m.value, per_min, left_min),
          out);
}

void Thermal::on_neighbours(Gpu& g, const Sample& m, const Gauges& gauges, const State& s, Signs& out) {
  const Gauges::Gpu& own = gauges.at(m.node, m.slot);
  constexpr float kUnknown = -1000;
  const float others =
      own.busy() ? gauges.peers(
                       m.node, m.slot, 3, kUnknown,
                       [&](const Gauges::Gpu& x) { return x.busy() && x.temp_c > kUnknown && x.power_w >= 0.8F * own.power_w; },
                       [](const Gauges::Gpu& x) { return x.temp_c; })
                 : kUnknown;
  const auto temp = static_cast<float>(m.value);
  if (others == kUnknown || temp - others < kHotter) {
    g.hot = 0;
    return;
  }
  if (g.hot < kHotSamples) ++g.hot;
  if (g.hot < kHotSamples || m.value >= s.policy.temp_throttle_c) return;
  predict(m, 50, fmt::format("{:.0f} C where its neighbours have {:.0f} C at the same power", m.value, others), out);
}

void Thermal::on_temp(Gpu& g, const Sample& m, const Gauges& gauges, const State& s, Time mono, Signs& out) {
  if (m.value >= s.policy.temp_throttle_c) {
    out.see(FindingKind::thermal_throttle, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
            fmt::format("{:.0f} C, limit {:.0f} C", m.value, s.policy.temp_throttle_c));
  } else if (m.value < s.policy.temp_throttle_c - 8 && at_work(s, m)) {  // without load anything is cool
    out.clear(FindingKind::thermal_throttle, m.node, m.slot, "it has cooled down");
  }
  on_trend(g, m, gauges.at(m.node, m.slot), s, mono, out);
  on_neighbours(g, m, gauges, s, out);
}

void Thermal::on_sample(const Sample& m, const Gauges& gauges, const State& s, Time mono, Signs& out) {
  if (m.slot < 0) return;
  Gpu& g = gpus_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)];
  const auto see = [&](std::string text) {
    out.see(FindingKind::thermal_throttle, Severity::warning, m.node, m.slot, Witness::scrape, m.at, std::move(text));
  };
  if (m.field == Field::gpu_temp_c) return on_temp(g, m, gauges, s, mono, out);
  if (m.field == Field::clock_reasons) {
    const std::uint32_t reasons = gauges.at(m.node, m.slot).reasons;
    g.slowed = (reasons & kSoftThermal) != 0 ? static_cast<std::uint8_t>(std::min<int>(g.slowed + 1, kSoftSamples)) : 0;
    if ((reasons & kHardThermal) != 0) return see("the hardware slows it down because of heat");
    if (g.slowed >= kSoftSamples) return see("the driver slows it down because of heat, three readings in a row");
    return;
  }
  if (m.field != Field::thermal_violation_us) return;
  // Some drivers count in nanoseconds, whatever the name says: the temperature has to agree.
  const Growth v = g.violation_us.add(m.value, mono, kViolationWindow);
  const double share = v.over.ns > 0 ? v.in_window * 1e-6 / std::max(v.over, kViolationWindow).seconds() : 0;
  const bool near = static_cast<double>(gauges.at(m.node, m.slot).temp_c) >= s.policy.temp_throttle_c - 12;
  if (v.step > 0 && near && share >= kThrottledShare)
    see(fmt::format("throttled by heat for {:.0f} % of {}", std::min(100.0, 100 * share), render_duration(v.over)));
}

}  // namespace muster::detect
