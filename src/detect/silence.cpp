#include "detect/silence.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
// A person or the engine keeps it from work, and nothing runs on it: what they do with it, power it down perhaps, is theirs.
bool in_hands(const State& s, std::uint32_t n) {
  const bool kept = s.nodes[n].hold == Hold::person || s.nodes[n].condition == NodeCondition::kept;
  return kept && !s.nodes[n].busy();
}
}  // namespace

Silence::Silence(const Site& site)
    : links_(site.nodes.size() + 1),
      heard_(site.nodes.size()),
      boot_s_(site.nodes.size(), 0),
      boot_told_s_(site.nodes.size(), 0) {
  const auto n = static_cast<std::uint32_t>(links_.size());
  for (std::uint32_t i = 0; i < n; ++i) links_[i] = {(i + n - 1) % n, (i + 1) % n};
}

void Silence::take_over(const Finding& f) {
  if (f.kind != FindingKind::node_silent) return;
  heard_[f.node.v] = kNever;
  unlink(f.node.v);
}

void Silence::unlink(std::uint32_t n) {
  links_[links_[n].before].after = links_[n].after;
  links_[links_[n].after].before = links_[n].before;
  links_[n] = {n, n};
}

void Silence::to_back(std::uint32_t n) {
  const auto head = static_cast<std::uint32_t>(links_.size() - 1);
  unlink(n);
  links_[n] = {links_[head].before, head};
  links_[links_[head].before].after = n;
  links_[head].before = n;
}

void Silence::on_sample(const Sample& m, const State& s, Time mono, Signs& out) {
  const std::uint32_t n = m.node.v;
  if (m.field == Field::boot_time_s) {
    const double before = boot_s_[n];
    const double told_s = boot_told_s_[n];
    boot_s_[n] = m.value;
    boot_told_s_[n] = m.at.ns / 1e9;
    // A boot that Muster ordered may be reported only after the order has ended.
    const Incident* i = find_incident(s, s.nodes[n].incident);
    const bool ordered =
        taken_down(s, m.node) || installed_lately(s, m.node) != nullptr || (i != nullptr && i->repaired) || in_hands(s, n);
    // A minute of slack: exporters compute the boot time from the uptime, and it wobbles. A boot that lies before the last report
    // of the old one is none: the node's clock was set.
    constexpr double kWobble_s = 60, kSkew_s = 300;
    if (before != 0 && m.value > before + kWobble_s && m.value > told_s - kSkew_s && !ordered) {
      out.see(FindingKind::host_rebooted, Severity::warning, m.node, -1, Witness::scrape, m.at,
              "the node has booted, and nobody asked it to");
    }
  }
  if (m.field == Field::up && m.value <= 0) return;
  if (heard_[n] == kNever) out.clear(FindingKind::node_silent, m.node, -1, "the node reports again");
  heard_[n] = mono;
  to_back(n);
}

void Silence::on_turn(const State& s, Time utc, Time mono, Signs& out) {
  if (!begun_) {  // a controller that has just started has heard nobody yet: the window begins now
    begun_ = true;
    for (Time& h : heard_) {
      if (h.ns == 0) h = mono;
    }
  }
  const auto head = static_cast<std::uint32_t>(links_.size() - 1);
  for (std::uint32_t n = links_[head].after; n != head;) {
    const std::uint32_t following = links_[n].after;
    if (mono - heard_[n] < s.policy.silent_after) break;
    // The window begins anew when a repair ends: a node that has just booted has not reported yet.
    const Incident* i = find_incident(s, s.nodes[n].incident);
    const Turn* t = installed_lately(s, NodeId{n});
    const bool just_back = (i != nullptr && i->repaired && mono - i->since < s.policy.silent_after) ||
                           (t != nullptr && mono - t->since < s.policy.silent_after);
    if (taken_down(s, NodeId{n}) || just_back || in_hands(s, n)) {
      heard_[n] = mono;
      to_back(n);
    } else {
      out.see(FindingKind::node_silent, Severity::critical, NodeId{n}, -1, Witness::silence, utc,
              fmt::format("nothing heard for {}", render_duration(mono - heard_[n])));
      heard_[n] = kNever;
      unlink(n);  // until it is heard again
    }
    n = following;
  }
}

Time Silence::next(const State& s) const {
  const std::uint32_t first = links_.back().after;
  if (first == links_.size() - 1) return kNever;
  return heard_[first] + s.policy.silent_after;
}

}  // namespace muster::detect
