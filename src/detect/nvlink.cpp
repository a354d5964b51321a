#include "detect/nvlink.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
// Links retry what was damaged on the way, so that a few errors cost nothing. A link that loses its margin has hundreds a minute.
constexpr double kErrors = 50;
constexpr Duration kWindow = minutes(5);
}  // namespace

void Nvlink::on_sample(const Sample& m, Time mono, Signs& out) {
  if (m.slot < 0) return;
  const Growth g = errors_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)].add(m.value, mono, kWindow);
  if (g.step <= 0 || !beyond(g, kErrors, kWindow)) return;
  out.see(FindingKind::nvlink_degraded, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
          fmt::format("{:.0f} NVLink errors in {}, {:.0f} in all", g.in_window, render_duration(g.over), m.value));
}

}  // namespace muster::detect
