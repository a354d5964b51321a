#include "detect/pcie.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
constexpr double kReplays = 40;  // 8 a minute, as DCGM's health check has it, over five minutes
constexpr Duration kReplayWindow = minutes(5);
// The GPU's own count of corrected errors has those of an idle link too, which cost nothing: five times as many.
constexpr double kCounted = 5 * kReplays;
constexpr std::uint8_t kSlowSamples = 3;
constexpr std::size_t kCorrected = 10;  // corrected errors in ...
constexpr Duration kCorrectedWindow = minutes(10);
constexpr Duration kSameEvent = seconds(1);  // one error prints up to four lines
}  // namespace

Pcie::Pcie(const Site& site) : slots_(site.gpus_per_node), links_(site.nodes.size() * site.gpus_per_node) {}

// An idle link slows down to save power: only the speed of a GPU at work, against others at work, says anything.
void Pcie::on_gen(const Sample& m, const Gauges& gauges, Signs& out) {
  Link& l = at(m.node, m.slot);
  l.gen = static_cast<std::uint8_t>(m.value);
  std::uint8_t best = 0;
  for (std::uint32_t i = 0; i < slots_; ++i) {
    const auto slot = static_cast<std::int16_t>(i);
    if (gauges.at(m.node, slot).busy()) best = std::max(best, at(m.node, slot).gen);
  }
  if (l.gen == 0 || l.gen >= best || !gauges.at(m.node, m.slot).busy()) {
    l.slow = 0;
    return;
  }
  if (l.slow < kSlowSamples) ++l.slow;
  if (l.slow < kSlowSamples) return;
  out.see(FindingKind::pcie_degraded, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
          fmt::format("PCIe link runs at generation {} under load where its peers run at {}", l.gen, best));
}

void Pcie::on_sample(const Sample& m, const Gauges& gauges, Time mono, Signs& out) {
  if (m.slot < 0) return;
  Link& l = at(m.node, m.slot);
  if (m.field == Field::pcie_gen) return on_gen(m, gauges, out);
  const bool replays = m.field == Field::pcie_replay_total;
  if (replays || m.field == Field::pcie_corrected_total) {
    const Growth g = (replays ? l.replays : l.corrected).add(m.value, mono, kReplayWindow);
    if (g.step > 0 && beyond(g, replays ? kReplays : kCounted, kReplayWindow))
      out.see(FindingKind::pcie_degraded, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
              fmt::format("{:.0f} {} in {}, {:.0f} in all", g.in_window, replays ? "PCIe replays" : "corrected PCIe errors",
                          render_duration(g.over), m.value));
    return;
  }
  if (m.field != Field::pcie_width || m.value <= 0) return;
  l.lanes = static_cast<std::uint8_t>(m.value);
  l.widest = std::max(l.widest, l.lanes);
  if (l.lanes >= 16) return out.clear(FindingKind::pcie_degraded, m.node, m.slot, "PCIe link is back on 16 lanes");
  narrow_.emplace(m.node, m.slot);
  narrow_at_ = m.at;
}

void Pcie::on_turn(Signs& out) {
  for (const auto& [node, slot] : narrow_) {
    const Link& l = at(node, slot);
    std::uint8_t widest = l.widest;
    std::uint32_t known = 0;
    for (std::uint32_t i = 0; i < slots_; ++i) {
      const Link& peer = at(node, static_cast<std::int16_t>(i));
      widest = std::max(widest, peer.widest);
      known += peer.lanes != 0 ? 1 : 0;
    }
    if (known < 2) widest = std::max<std::uint8_t>(widest, 16);  // alone: the usual number
    if (l.lanes < widest)
      out.see(FindingKind::pcie_degraded, Severity::warning, node, slot, Witness::scrape, narrow_at_,
              fmt::format("PCIe link runs on {} of {} lanes", l.lanes, widest));
  }
  narrow_.clear();
}

void Pcie::on_record(const KernelRecord& r, Time mono, Signs& out) {
  if (r.kind != KernelKind::pcie_error || r.slot < 0) return;
  const auto see = [&](Severity severity, std::string text) {
    Sign s{
        FindingKind::pcie_degraded, severity, r.node, r.slot, {}, 0, {Witness::kernel_log, r.at, record_ref(r), std::move(text)}};
    out.seen.push_back(std::move(s));
  };
  if (r.code > 0) return see(r.code > 1 ? Severity::critical : Severity::warning, r.text);
  auto& recent = corrected_[{r.node, r.slot}];
  if (!recent.empty() && mono - recent.back() < kSameEvent) return;
  recent.push_back(mono);
  while (mono - recent.front() > kCorrectedWindow) recent.pop_front();
  if (recent.size() < kCorrected) return;
  see(Severity::warning,
      fmt::format("{} corrected PCIe errors in {}, the last: {}", recent.size(), render_duration(mono - recent.front()), r.text));
  recent.pop_front();
}

}  // namespace muster::detect
