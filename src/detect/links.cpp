#include "detect/links.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
constexpr Duration kFlapMax = minutes(2);  // longer than a link needs to retrain
}

void Links::take_over(const Finding& f) {
  if (f.kind == FindingKind::link_down) down_[{f.node, f.slot}] = {{}, true, f.evidence.front()};
}

void Links::went_down(Port p, Time mono, Evidence e) { down_.try_emplace(p, Down{mono, false, std::move(e)}); }

void Links::came_up(Port p, Time mono, Time at, Signs& out) {
  const auto it = down_.find(p);
  if (it == down_.end()) return;
  if (it->second.said) {
    out.clear(FindingKind::link_down, p.first, p.second, "the link is up again");
  } else {
    out.see(FindingKind::link_flap, Severity::info, p.first, p.second, it->second.evidence.witness, at,
            fmt::format("link was down for {}", render_duration(mono - it->second.since)));
  }
  down_.erase(it);
}

void Links::on_kernel_record(const KernelRecord& r, Time mono, Signs& out) {
  if (r.slot < 0) return;
  if (r.kind == KernelKind::link_down) {
    went_down({r.node, r.slot}, mono, {Witness::kernel_log, r.at, fmt::format("kmsg:{:x}/{}", r.boot, r.seq), r.text});
  }
  if (r.kind == KernelKind::link_up) came_up({r.node, r.slot}, mono, r.at, out);
}

void Links::on_sample(const Sample& m, Time mono, Signs& out) {
  if (m.slot < 0) return;
  const Port p{m.node, m.slot};
  if (m.field == Field::ib_link_downed_total && m.value > 0) note(p, true);  // what went down was up
  if (m.field != Field::ib_up) return;
  if (m.value > 0) {
    note(p, true);
    return came_up(p, mono, m.at, out);
  }
  Evidence e{Witness::scrape, m.at, {}, fmt::format("NIC {} reports its port as not active", m.slot)};
  const auto it = down_.find(p);
  if (it == down_.end()) {
    note(p, false);
    if (in_use(p)) went_down(p, mono, std::move(e));
    return;
  }
  if (it->second.said)
    out.seen.push_back({FindingKind::link_down, Severity::critical, m.node, m.slot, {}, 0, std::move(e)});
  else
    it->second.evidence = std::move(e);  // the better witness
}

void Links::note(Port p, bool active) {
  const auto [it, added] = ports_.try_emplace(p, false);
  Peers& peers = peers_[p.second];
  peers.seen += added;
  if (!active || it->second) return;
  it->second = true;
  ++peers.active;
}

// One that never was active has no cable, unless the same one of most other nodes has.
bool Links::in_use(Port p) const {
  constexpr int kPeersMin = 3;
  const Peers& peers = peers_.at(p.second);
  return ports_.at(p) || (peers.active >= kPeersMin && peers.active * 2 > peers.seen - 1);
}

void Links::on_turn(const State& s, Time utc, Time mono, Signs& out) {
  for (auto& [port, d] : down_) {
    if (d.said || mono - d.since < kFlapMax) continue;
    if (taken_down(s, port.first)) {  // a link of a rebooting node is down as it should be: the window starts again
      d.since = mono;
      continue;
    }
    d.said = true;
    Evidence e = d.evidence;
    e.at = utc;
    out.seen.push_back({FindingKind::link_down, Severity::critical, port.first, port.second, {}, 0, std::move(e)});
  }
}

Time Links::next() const {
  Time t = kNever;
  for (const auto& [port, d] : down_) {
    if (!d.said) t = std::min(t, d.since + kFlapMax);
  }
  return t;
}

}  // namespace muster::detect
