#include "decide/upgrade/sides.h"

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
  out.apart = !u.spec.apart.empty();
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
  if (!u.spec.wait_for_jobs || !begins_more) return out;
  double time_s = waiting * kTurnTakes.seconds() / away_at_once(s);
  if (u.phase == UpgradePhase::canary) time_s += u.spec.watch.seconds();
  out.open_for = from_seconds(time_s);
  return out;
}

}  // namespace muster::decide
