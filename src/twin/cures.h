// Which act cures which fault, as data. docs/twin.md shows the same table.
#pragma once
#include <array>
#include <cstdint>

#include "base/prng.h"
#include "model/action.h"
#include "twin/fault.h"

namespace muster::twin {

// How deep an act reaches. An act cures every fault that needs its own depth or less; a bounce only what it is for.
enum class Depth : std::uint8_t { itself, reset, reload, bounce, reboot, power_cycle, replace };

struct Cure {
  FaultKind kind;
  // Shares of the faults of this kind that go away by themselves, or need at least this act. They sum to 1.
  double itself, reset, reload, bounce, reboot, power_cycle, replace;
  bool on_gpu;         // has a slot
  bool intermittent;   // a test may miss it (never a hard one)
};

constexpr std::array<Cure, 23> kCures = {{
    {FaultKind::gpu_off_bus, 0, 0, 0, 0, 0.60, 0.30, 0.10, true, false},
    {FaultKind::ecc_uncorrectable, 0, 1, 0, 0, 0, 0, 0, true, false},
    {FaultKind::row_remap, 0, 1, 0, 0, 0, 0, 0, true, false},
    {FaultKind::row_remap_failure, 0, 0, 0, 0, 0, 0, 1, true, false},
    {FaultKind::nvlink_degraded, 0, 0.50, 0, 0, 0.25, 0, 0.25, true, true},
    {FaultKind::pcie_degraded, 0, 0, 0, 0, 0.50, 0, 0.50, true, true},
    {FaultKind::thermal, 0, 0, 0, 0, 0, 0, 1, true, false},
    {FaultKind::gsp_hang, 0, 0, 0, 0, 1, 0, 0, true, false},
    {FaultKind::nic_flap, 1, 0, 0, 0, 0, 0, 0, true, false},
    {FaultKind::cable_down, 0, 0, 0, 0.30, 0, 0, 0.70, true, false},
    {FaultKind::node_hang, 0, 0, 0, 0, 0, 1, 0, false, false},
    {FaultKind::host_crash, 1, 0, 0, 0, 0, 0, 0, false, false},
    {FaultKind::slow_gpu, 0, 0.50, 0, 0, 0, 0, 0.50, true, true},
    {FaultKind::storage_stall, 1, 0, 0, 0, 0, 0, 0, false, false},
    {FaultKind::app_bug, 1, 0, 0, 0, 0, 0, 0, true, false},
    {FaultKind::driver_hang, 0, 0, 0.60, 0, 0.40, 0, 0, false, false},
    {FaultKind::cooling_fault, 1, 0, 0, 0, 0, 0, 0, false, false},
    {FaultKind::bad_push, 1, 0, 0, 0, 0, 0, 0, false, false},
    {FaultKind::switch_failure, 1, 0, 0, 0, 0, 0, 0, false, false},
    {FaultKind::pdu_loss, 1, 0, 0, 0, 0, 0, 0, false, false},
    {FaultKind::engine_away, 1, 0, 0, 0, 0, 0, 0, false, false},
    {FaultKind::clock_jump, 1, 0, 0, 0, 0, 0, 0, false, false},
    {FaultKind::event_storm, 1, 0, 0, 0, 0, 0, 0, false, false},
}};

constexpr const Cure& cure_of(FaultKind k) { return kCures[static_cast<std::size_t>(k)]; }

inline Depth draw_depth(const Cure& c, Prng& prng) {
  const double shares[] = {c.itself, c.reset, c.reload, c.bounce, c.reboot, c.power_cycle, c.replace};
  double u = prng.unit();
  std::size_t last = 0;  // a share of zero must never be drawn by a rounding error of the sums
  for (std::size_t d = 0; d < std::size(shares); ++d) {
    if (shares[d] <= 0) continue;
    last = d;
    if ((u -= shares[d]) < 0) break;
  }
  return static_cast<Depth>(last);
}

constexpr Depth depth_of(Verb v) {
  switch (v) {
    case Verb::reset_gpu: return Depth::reset;
    case Verb::reload_driver: return Depth::reload;
    case Verb::bounce_link: return Depth::bounce;
    case Verb::reboot_node: return Depth::reboot;
    case Verb::power_cycle_node: return Depth::power_cycle;
    case Verb::replace_node: return Depth::replace;
    default: return Depth::itself;
  }
}

}  // namespace muster::twin
