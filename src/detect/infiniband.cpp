#include "detect/infiniband.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {

struct Rule {
  Field field;
  FindingKind kind;
  double count;
  Duration window;
  const char* what;
};
// Thresholds as NVSentinel has them (rates a second are taken over a minute): what must never happen counts from one.
constexpr Rule kTable[] = {
    {Field::ib_link_downed_total, FindingKind::link_flap, 1, minutes(1), "times the link went down"},
    {Field::ib_link_downed_total, FindingKind::ib_degraded, 3, minutes(60), "times the link went down"},
    {Field::ib_integrity_errors_total, FindingKind::ib_degraded, 1, minutes(1), "link integrity errors"},
    {Field::ib_overrun_errors_total, FindingKind::ib_degraded, 1, minutes(1), "buffer overruns"},
    {Field::ib_rnr_retries_total, FindingKind::ib_degraded, 1, minutes(1), "retries because the receiver was not ready"},
    {Field::ib_recoveries_total, FindingKind::ib_degraded, 6, minutes(1), "link recoveries"},
    {Field::ib_receive_errors_total, FindingKind::ib_degraded, 600, minutes(1), "receive errors"},
    {Field::ib_ack_timeouts_total, FindingKind::ib_degraded, 60, minutes(1), "missing acknowledgements"},
    {Field::ib_discards_total, FindingKind::ib_degraded, 6000, minutes(1), "packets not sent"},
    {Field::ib_slow_restarts_total, FindingKind::ib_degraded, 600, minutes(1), "slow restarts"},
};
constexpr double kSymbols = 121;  // more than 120 an hour
constexpr std::uint8_t kSlowSamples = 2;

}  // namespace

Infiniband::Infiniband(const Site& site) : slots_(site.gpus_per_node), ports_(site.nodes.size() * site.gpus_per_node) {
  static_assert(std::size(kTable) == kRules);
}

// A link that trains to less than it had, or less than the node's other links, has lost lanes.
void Infiniband::on_rate(Port& p, const Sample& m, Signs& out) {
  if (m.value <= 0) return;
  const auto rate = static_cast<float>(m.value);
  p.best_rate = std::max(p.best_rate, rate);
  float best = p.best_rate;
  std::size_t faster = 0;
  for (std::uint32_t i = 0; i < slots_; ++i) {
    const Port& peer = ports_[m.node.v * slots_ + i];
    faster += peer.best_rate > 1.1F * rate ? 1 : 0;
    best = std::max(best, peer.best_rate);
  }
  // A slower card among others may be meant for storage: peers count when most of them are faster.
  const bool slow = rate < 0.9F * p.best_rate || (slots_ > 1 && faster * 2 > slots_);
  p.slow = slow ? static_cast<std::uint8_t>(std::min<int>(p.slow + 1, kSlowSamples)) : 0;
  if (p.slow < kSlowSamples) return;
  out.see(FindingKind::ib_degraded, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
          fmt::format("NIC {} runs at {:.0f} Gb/s instead of {:.0f}", m.slot, m.value * 8e-9, static_cast<double>(best) * 8e-9));
}

void Infiniband::on_sample(const Sample& m, const State& s, Time mono, Signs& out) {
  if (m.slot < 0) return;
  Port& p = ports_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)];
  if (m.field == Field::ib_rate_bytes) return on_rate(p, m, out);
  const bool expected = taken_down(s, m.node);  // links of a node that boots go down as they should
  if (m.field == Field::ib_symbol_errors_total) {
    const Growth g = p.symbols_by_hour.add(m.value, mono, minutes(60));
    if (g.step > 0 && !expected && beyond(g, kSymbols, minutes(60)))
      out.see(FindingKind::ib_degraded, Severity::warning, m.node, m.slot, Witness::scrape, m.at,
              fmt::format("NIC {}: {:.0f} symbol errors in {}", m.slot, g.in_window, render_duration(g.over)));
    return;
  }
  for (std::size_t i = 0; i < kRules; ++i) {
    const Rule& r = kTable[i];
    if (r.field != m.field) continue;
    const Growth g = p.counters[i].add(m.value, mono, r.window);
    if (g.step <= 0 || expected) continue;
    // What counts from one counts however long ago the last look was.
    const bool seen = r.count <= 1 ? g.step >= 1 : beyond(g, r.count, r.window);
    if (!seen) continue;
    out.see(r.kind, r.kind == FindingKind::link_flap ? Severity::info : Severity::warning, m.node, m.slot, Witness::scrape, m.at,
            fmt::format("NIC {}: {:.0f} {}", m.slot, r.count <= 1 ? g.step : g.in_window, r.what));
  }
}

}  // namespace muster::detect
