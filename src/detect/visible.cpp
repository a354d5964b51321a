#include "detect/visible.h"

#include <fmt/core.h>

namespace muster::detect {

void Visible::take_over(const Finding& f) {
  if (f.kind == FindingKind::gpu_lost && f.slot >= 0 && f.slot < 32) lost_[f.node.v] |= 1U << f.slot;
}

void Visible::on_sample(const Sample& m, const State& s, Signs& out) {
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

}  // namespace muster::detect
