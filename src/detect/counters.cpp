#include "detect/counters.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace muster::detect {
namespace {

// Whether a job has the GPU that was measured.
bool at_work(const State& s, const Sample& m) {
  const auto& shares = s.nodes[m.node.v].shares;
  return std::any_of(shares.begin(), shares.end(), [&](const Share& x) { return m.slot < 0 || (x.slots >> m.slot & 1) != 0; });
}

// A counter that moved by at least `step` since the last sample is a sign.
struct CounterRule {
  Field field;
  FindingKind kind;
  Severity severity;
  double step;
  const char* what;
};
constexpr CounterRule kCounters[] = {
    {Field::ecc_dbe_total, FindingKind::ecc_uncorrectable, Severity::critical, 1, "uncorrectable ECC errors"},
    {Field::nvlink_errors_total, FindingKind::nvlink_degraded, Severity::warning, 50, "NVLink errors"},
    {Field::pcie_replay_total, FindingKind::pcie_degraded, Severity::warning, 100, "PCIe replays"},
};
constexpr std::size_t kColumns = std::size(kCounters);

}  // namespace

Counters::Counters(const Site& site)
    : slots_(site.gpus_per_node),
      last_(site.nodes.size() * slots_ * kColumns, std::numeric_limits<double>::quiet_NaN()),
      lost_(site.nodes.size(), 0) {}

void Counters::take_over(const Finding& f) {
  if (f.kind == FindingKind::gpu_lost && f.slot >= 0 && f.slot < 32) lost_[f.node.v] |= 1U << f.slot;
}

double& Counters::last(const Sample& m, std::size_t column) {
  return last_[(m.node.v * slots_ + static_cast<std::size_t>(m.slot)) * kColumns + column];
}

void Counters::on_visible(const Sample& m, const State& s, Signs& out) {
  const auto mask = static_cast<std::uint32_t>(m.value);
  const std::uint32_t all = slots_ >= 32 ? ~0U : (1U << slots_) - 1;
  const std::uint32_t missing = all & ~mask;
  if (under_repair(s, m.node)) return;
  for (std::uint32_t i = 0; i < slots_; ++i) {
    const auto slot = static_cast<std::int16_t>(i);
    if ((missing >> i & 1U) != 0) {
      out.see(FindingKind::gpu_lost, Severity::critical, m.node, slot, Witness::scrape, m.at,
              fmt::format("GPU {} is missing from a full scrape", i));
    } else if ((lost_[m.node.v] >> i & 1U) != 0) {
      out.clear(FindingKind::gpu_lost, m.node, slot, "the GPU is visible again");
    }
  }
  lost_[m.node.v] = missing;
}

void Counters::on_sample(const Sample& m, const State& s, Signs& out) {
  if (m.field == Field::gpus_visible) return on_visible(m, s, out);
  if (m.slot < 0 || static_cast<std::uint32_t>(m.slot) >= slots_) return;
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (kCounters[c].field != m.field) continue;
    double& before = last(m, c);
    const double moved = m.value - before;
    before = m.value;
    // NaN: first sample. Negative: the counter was reset with the driver.
    if (std::isnan(moved) || moved < kCounters[c].step) return;
    return out.see(kCounters[c].kind, kCounters[c].severity, m.node, m.slot, Witness::scrape, m.at,
                   fmt::format("{} rose by {:.0f} to {:.0f}", kCounters[c].what, moved, m.value));
  }
  switch (m.field) {
    case Field::remap_pending:
      if (m.value > 0) {
        out.see(FindingKind::row_remap_pending, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
                "a row remap waits for a reset");
      } else {
        out.clear(FindingKind::row_remap_pending, m.node, m.slot, "no remap is pending any more");
      }
      break;
    case Field::remap_failed:
      if (m.value > 0) {
        out.see(FindingKind::row_remap_failed, Severity::critical, m.node, m.slot, Witness::scrape, m.at,
                "a row could not be remapped");
      } else {
        out.clear(FindingKind::row_remap_failed, m.node, m.slot, "the GPU reports no failed remap any more");
      }
      break;
    case Field::pcie_width:
      if (m.value > 0 && m.value < 16) {
        out.see(FindingKind::pcie_degraded, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
                fmt::format("PCIe link runs on {:.0f} of 16 lanes", m.value));
      } else if (m.value >= 16) {
        out.clear(FindingKind::pcie_degraded, m.node, m.slot, "PCIe link is back on 16 lanes");
      }
      break;
    case Field::gpu_temp_c:
      if (m.value >= s.policy.temp_throttle_c) {
        out.see(FindingKind::thermal_throttle, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
                fmt::format("{:.0f} C, limit {:.0f} C", m.value, s.policy.temp_throttle_c));
      } else if (m.value < s.policy.temp_throttle_c - 8 && at_work(s, m)) {  // without load anything is cool
        out.clear(FindingKind::thermal_throttle, m.node, m.slot, "it has cooled down");
      }
      break;
    default: break;
  }
}

}  // namespace muster::detect
