#include "detect/nvlink.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
// Links retry what was damaged on the way, so that a few errors cost nothing. A link that loses its margin has hundreds a minute.
// NVLink 5 counts what its error correction could not mend: at the rate its links are made for (one bit in 1e15) the 18 links of
// a GPU together have two or three in five minutes.
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

// A link that went down, or could not be recovered, is lost to the job that uses it: one is enough. Counts begin again with the
// driver, which is no growth; a GPU that Muster resets takes its links down.
void Nvlink::on_failures(const Sample& m, const State& s, Time mono, Signs& out) {
  if (m.slot < 0) return;
  const Growth g = failures_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)].add(m.value, mono, kWindow);
  if (g.step < 1 || under_repair(s, m.node)) return;
  out.see(FindingKind::nvlink_degraded, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
          fmt::format("NVLinks went down or could not be recovered {:.0f} times since the last look, {:.0f} in all", g.step,
                      m.value));
}

}  // namespace muster::detect
