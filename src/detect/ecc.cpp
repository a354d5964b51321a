#include "detect/ecc.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
// Healthy memory corrects a few errors a day; a failing row corrects thousands an hour. 10 a minute is the rate at which DCGM's
// own health check begins to complain.
constexpr double kCorrected = 100;
constexpr Duration kCorrectedWindow = minutes(10);
}  // namespace

Ecc::Ecc(const Site& site) : slots_(site.gpus_per_node), memory_(site.nodes.size() * site.gpus_per_node) {}

void Ecc::on_sample(const Sample& m, Time mono, Signs& out) {
  if (m.slot < 0) return;
  Memory& mem = memory_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)];
  const auto see = [&](FindingKind k, Severity sev, std::string text) {
    out.see(k, sev, m.node, m.slot, Witness::scrape, m.at, std::move(text));
  };
  switch (m.field) {
    case Field::ecc_dbe_total: {
      // One is enough. The count starts anew with the driver: what it shows after that is new as well.
      const Growth g = mem.uncorrectable.add(m.value, mono, minutes(10), true);
      if (g.step >= 1)
        see(FindingKind::ecc_uncorrectable, Severity::critical,
            fmt::format("uncorrectable ECC errors rose by {:.0f} to {:.0f}", g.step, m.value));
      break;
    }
    case Field::ecc_sbe_total: {
      const Growth g = mem.corrected.add(m.value, mono, kCorrectedWindow);
      if (g.step > 0 && beyond(g, kCorrected, kCorrectedWindow))
        see(FindingKind::ecc_correctable, Severity::warning,
            fmt::format("{:.0f} corrected ECC errors in {}, {:.0f} in all", g.in_window, render_duration(g.over), m.value));
      break;
    }
    case Field::remapped_rows: {
      const Growth g = mem.remapped.add(m.value, mono, minutes(10));
      if (g.step >= 1 && !mem.tells_pending)
        see(FindingKind::row_remap_pending, Severity::warning,
            fmt::format("{:.0f} rows remapped, {:.0f} in all: in force after a reset", g.step, m.value));
      break;
    }
    case Field::remap_pending:
      mem.tells_pending = true;
      if (m.value > 0) {
        see(FindingKind::row_remap_pending, Severity::warning, "a row remap waits for a reset");
      } else {
        out.clear(FindingKind::row_remap_pending, m.node, m.slot, "no remap is pending any more");
      }
      break;
    case Field::remap_failed:
      if (m.value > 0) {
        see(FindingKind::row_remap_failed, Severity::critical, "a row could not be remapped");
      } else {
        out.clear(FindingKind::row_remap_failed, m.node, m.slot, "the GPU reports no failed remap any more");
      }
      break;
    case Field::sram_exceeded:
      if (m.value > 0)
        see(FindingKind::ecc_uncorrectable, Severity::critical,
            "uncorrectable errors of on-chip memory are beyond the maker's limit");
      break;
    default: break;
  }
}

}  // namespace muster::detect
