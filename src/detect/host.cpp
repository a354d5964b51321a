#include "detect/host.h"

#include <fmt/core.h>

namespace muster::detect {

void Host::on_sample(const Sample& m, Time mono, Signs& out) {
  // The count starts anew with a boot: what it shows after that is new as well.
  const Growth g = uncorrected_[m.node.v].add(m.value, mono, minutes(10), true);
  if (g.step < 1) return;
  out.see(FindingKind::host_fault, Severity::warning, m.node, -1, Witness::scrape, m.at,
          fmt::format("{:.0f} uncorrected errors of the host's memory, {:.0f} since its boot", g.step, m.value));
}

}  // namespace muster::detect
