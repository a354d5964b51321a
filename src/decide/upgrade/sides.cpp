#include "decide/upgrade/sides.h"

#include <map>

#include "base/node_list.h"

namespace muster::decide {
namespace {

std::set<std::string> named(const std::string& list) {
  std::set<std::string> out;
  if (list.empty()) return out;
  if (const auto names = expand_node_list(list)) out.insert(names->begin(), names->end());
  return out;
}

bool told(const NodeState& n, const std::string& what, const std::string& version) {
  const std::string fact = what == "driver" ? "driver_version" : what;
  for (const auto& [name, value] : n.known.sheet().facts) {
    if (name == fact) return value == version;
  }
  return false;
}

// Within an NVLink domain a gang has nodes of one side, and different domains may be of different sides. A domain that is
// half-way is therefore cut in two, and a gang has none of the smaller parts, or nothing else: then no two of its nodes in one
// domain differ, and one search for each of the two tells where it fits. What this leaves out are gangs with the smaller part of
// one domain and the larger of another.
void part_domains(const Site& site, Sides& out) {
  struct Nodes {
    std::uint32_t with = 0, without = 0;
    bool half_way() const { return with > 0 && without > 0; }
  };
  std::map<std::uint32_t, Nodes> all, not_waiting;  // by domain
  for (std::size_t n = 0; n < out.of.size(); ++n) {
    const std::uint32_t domain = site.nodes[n].domain;
    const bool has_it = (out.of[n] & kHasIt) != 0;
    ++(has_it ? all[domain].with : all[domain].without);
    if ((out.of[n] & kWaits) == 0) ++(has_it ? not_waiting[domain].with : not_waiting[domain].without);
  }
  const auto half_way = [](const auto& d) { return d.second.half_way(); };
  if (std::none_of(all.begin(), all.end(), half_way)) return;
  out.apart = kOfFewer;
  // Work that lasts keeps off nodes that wait. Mostly these are all that a half-way domain has of the other version.
  if (std::none_of(not_waiting.begin(), not_waiting.end(), half_way)) out.together = kNotWaiting;
  for (std::size_t n = 0; n < out.of.size(); ++n) {
    const Nodes& d = all[site.nodes[n].domain];
    const bool has_it = (out.of[n] & kHasIt) != 0;
    if (d.half_way() && has_it == (d.with < d.without)) out.of[n] |= kFewer;
  }
}

}  // namespace

std::vector<NodeId> upgrade_targets(const State& s) {
  std::vector<NodeId> all;
  const std::set<std::string> only = named(s.upgrade.spec.nodes);
  const bool back = s.upgrade.phase == UpgradePhase::rolling_back;
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
    const auto t = s.upgrade.turns.find(NodeId{n});
    const bool has_it = t != s.upgrade.turns.end() && t->second.installed;
    if (back ? has_it : only.empty() || only.count(s.site.nodes[n].name) != 0) all.push_back(NodeId{n});
  }
  return all;
}

bool has_new_version(const State& s, NodeId n) {
  const Upgrade& u = s.upgrade;
  if (const auto t = u.turns.find(n); t != u.turns.end()) return t->second.installed;
  if (u.spec.parts.empty()) return told(s.nodes[n.v], u.spec.what, u.spec.version);
  return std::all_of(u.spec.parts.begin(), u.spec.parts.end(),
                     [&](const UpgradePart& p) { return told(s.nodes[n.v], p.what, p.version); });
}

std::uint32_t serving_turns(const Upgrade& u) {
  return static_cast<std::uint32_t>(std::count_if(u.turns.begin(), u.turns.end(), [](const auto& t) {
    return t.second.stage != TurnStage::skipped && (t.second.stage != TurnStage::bad || t.second.installed);
  }));
}

std::vector<NodeId> canaries_to_come(const State& s) {
  std::vector<NodeId> out;
  const Upgrade& u = s.upgrade;
  if (u.phase != UpgradePhase::canary || u.spec.canary_nodes.empty()) return out;
  if (u.spec.canaries > 0 && serving_turns(u) >= u.spec.canaries) return out;
  const std::set<std::string> first = named(s.upgrade.spec.canary_nodes);
  for (const NodeId n : upgrade_targets(s)) {
    const NodeState& x = s.nodes[n.v];
    const bool sound = x.condition == NodeCondition::up && x.hold == Hold::none && !x.incident.some();
    if (sound && first.count(s.site.nodes[n.v].name) != 0 && u.turns.count(n) == 0 && !has_new_version(s, n)) out.push_back(n);
  }
  return out;
}

std::uint32_t away_at_once(const State& s) {
  return allowance(s.upgrade.spec.at_once_pct, 1, static_cast<std::uint32_t>(s.nodes.size()));
}

Sides sides_of(const State& s) {
  Sides out;
  const Upgrade& u = s.upgrade;
  if (u.id == 0 || (u.spec.apart.empty() && !u.spec.wait_for_jobs)) return out;
  out.of.assign(s.nodes.size(), 0);
  const bool back = u.phase == UpgradePhase::rolling_back;
  const bool begins_more = at_work(u.phase) && u.phase != UpgradePhase::stopping;
  std::uint32_t waiting = 0;
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) out.of[n] = has_new_version(s, NodeId{n}) ? kHasIt : 0;
  for (const NodeId n : upgrade_targets(s)) {
    const auto t = u.turns.find(n);
    const bool settled = t != u.turns.end() && (t->second.stage == TurnStage::skipped || is_out(t->second.stage));
    if (!begins_more || settled || (out.of[n.v] != 0) != back) continue;
    out.of[n.v] |= kWaits;
    ++waiting;
  }
  if (!u.spec.apart.empty() && u.spec.apart_within == ApartWithin::job) out.apart = kWithIt;
  if (!u.spec.apart.empty() && u.spec.apart_within == ApartWithin::domain) part_domains(s.site, out);
  if (!u.spec.wait_for_jobs || !begins_more) return out;
  double time_s = waiting * kTurnTakes.seconds() / away_at_once(s);
  if (u.phase == UpgradePhase::canary) time_s += u.spec.watch.seconds();
  out.open_for = from_seconds(time_s);
  return out;
}

}  // namespace muster::decide
