#include "detect/driver.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster::detect {
namespace {
constexpr std::uint8_t kSilent = 2;  // looks in a row
constexpr const char* kVerdicts[] = {"nothing",
                                     "a GPU reset",
                                     "a reboot of the node",
                                     "peer-to-peer work to be drained",
                                     "a drain and a reset",
                                     "the IMEX domain to be recovered"};
}  // namespace

void Driver::on_sample(const Sample& m, const State& s, Signs& out) {
  if (m.field == Field::driver_answers) {
    std::uint8_t& silent = silent_[m.node.v];
    if (m.value > 0) {
      if (silent >= kSilent) out.clear(FindingKind::driver_hang, m.node, -1, "the driver answers again");
      silent = 0;
      return;
    }
    silent = static_cast<std::uint8_t>(std::min<int>(silent + 1, kSilent));
    if (silent >= kSilent && !under_repair(s, m.node))
      out.see(FindingKind::driver_hang, Severity::warning, m.node, -1, Witness::scrape, m.at,
              "the driver did not answer in time, or shows no GPU any more, twice in a row");
    return;
  }
  if (m.field != Field::recovery_action || m.slot < 0 || under_repair(s, m.node)) return;
  const auto verdict = static_cast<std::size_t>(m.value);
  if (verdict == 0) return out.clear(FindingKind::gpu_fault, m.node, m.slot, "the driver asks for nothing any more");
  if (verdict >= std::size(kVerdicts)) return;
  const bool link = verdict == 3 || verdict == 5;
  out.see(link ? FindingKind::nvlink_degraded : FindingKind::gpu_fault, link ? Severity::warning : Severity::critical, m.node,
          m.slot, Witness::scrape, m.at, fmt::format("the driver asks for {}", kVerdicts[verdict]));
}

}  // namespace muster::detect
