#include "detect/clocks.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
constexpr std::uint32_t kIdle = 0x1;  // NVML's bits
constexpr std::uint32_t kSlowdown = 0x8, kSoftThermal = 0x20, kHardThermal = 0x40, kPowerBrake = 0x80;
constexpr std::uint8_t kBrakedSamples = 2;
constexpr std::uint8_t kLowSamples = 3;
constexpr float kLow = 0.75F;      // of the clock of its peers, with ...
constexpr float kLowPower = 0.8F;  // ... less than this of their power: one that is held back by its power limit draws all of it
constexpr float kBusy_pct = 90;
constexpr double kNearThrottle_c = 6;
}  // namespace

Clocks::Clocks(const Site& site) : slots_(site.gpus_per_node), gpus_(site.nodes.size() * site.gpus_per_node) {}

void Clocks::on_sample(const Sample& m, const Gauges& gauges, double throttle_c, Signs& out) {
  if (m.slot < 0) return;
  Gpu& g = gpus_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)];
  const Gauges::Gpu& own = gauges.at(m.node, m.slot);
  if (m.field == Field::clock_reasons) {
    g.braked = (own.reasons & kPowerBrake) != 0 ? static_cast<std::uint8_t>(std::min<int>(g.braked + 1, kBrakedSamples)) : 0;
    if (g.braked >= kBrakedSamples)
      out.see(FindingKind::power_brake, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
              "the power supply brakes it (HW power brake), two readings in a row");
    return;
  }
  if (m.field != Field::sm_clock_mhz) return;
  const auto busy = [](const Gauges::Gpu& x) { return x.util_pct >= kBusy_pct && x.clock_mhz > 0; };
  const float clock = gauges.peers(m.node, m.slot, 3, 0, busy, [](const Gauges::Gpu& x) { return x.clock_mhz; });
  const float power = gauges.peers(m.node, m.slot, 3, 0, busy, [](const Gauges::Gpu& x) { return x.power_w; });
  const bool explained = (own.reasons & (kIdle | kSoftThermal | kHardThermal | kPowerBrake)) != 0;
  const bool hot = static_cast<double>(own.temp_c) >= throttle_c - kNearThrottle_c;  // slowed by heat, which is told elsewhere
  const bool held = (own.reasons & kSlowdown) != 0;
  const bool low = busy(own) && !explained && !hot && own.clock_mhz < kLow * clock && (held || own.power_w < kLowPower * power);
  if (!low) {
    g.low = 0;
    return;
  }
  if (g.low == 0) g.since = m.at;
  if (g.low < kLowSamples) ++g.low;
  if (g.low < kLowSamples) return;
  out.see(FindingKind::clock_drop, Severity::warning, m.node, m.slot, Witness::scrape, g.since,
          fmt::format("{:.0f} MHz and {:.0f} W under load where its peers have {:.0f} MHz and {:.0f} W, and no reason given",
                      own.clock_mhz, own.power_w, clock, power));
}

}  // namespace muster::detect
