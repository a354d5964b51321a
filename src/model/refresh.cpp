// What a state derives from what it stores, and what a decision has looked at.
#include "base/node_list.h"
#include "model/state.h"

namespace muster {

void settle(State& s) {
  s.dirty_incidents.clear();
  s.new_findings.clear();
  s.dirty_nodes.clear();
  s.broken_jobs.clear();
  s.checkpointed.clear();
  s.queue_dirty = false;
  s.dirty_rows.clear();
  s.upgrade_dirty = false;
  s.queue_looked = s.mono();
}

namespace {

// Which group of the policy each node is in: the first that names it.
void put_in_groups(State& s) {
  s.group.clear();
  if (s.policy.groups.empty()) return;
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t n = 0; n < s.site.nodes.size(); ++n) by_name.emplace(s.site.nodes[n].name, n);
  s.group.assign(s.nodes.size(), -1);
  for (std::size_t g = s.policy.groups.size(); g-- > 0;) {
    const auto names = expand_node_list(s.policy.groups[g].nodes);
    if (!names) continue;  // the policy's reader has refused such a one
    for (const std::string& name : *names) {
      const auto at = by_name.find(name);
      if (at != by_name.end()) s.group[at->second] = static_cast<std::int16_t>(g);
    }
  }
}

}  // namespace

void refresh(State& s) {
  settle(s);
  s.timers.clear();
  s.out_nodes.clear();
  s.open_orders.clear();
  std::set<FindingId> in_incident;
  for (const auto& [id, i] : s.incidents) {
    in_incident.insert(i.findings.begin(), i.findings.end());
    if (i.closed.ns != 0) continue;
    s.dirty_incidents.insert(id);
    if (i.due.ns != 0 && i.due != kNever) s.timers.insert({i.due, id});
  }
  s.explained.clear();
  s.open_kinds.clear();
  s.engine_away = {};
  s.suspect_leaves.clear();
  for (const auto& [id, f] : s.findings) {
    if (f.cleared.ns == 0) index_finding(s, id);
    if (f.cleared.ns == 0 && in_incident.count(id) == 0) s.new_findings.insert(id);
  }
  s.placed.clear();
  s.followers.clear();
  for (const auto& [id, j] : s.jobs) {
    if (j.phase == JobPhase::starting || j.phase == JobPhase::running) s.placed.insert(s.placed.end(), id);
    if (j.phase == JobPhase::queued && !j.waits_for.empty()) s.followers.insert(s.followers.end(), id);
    if (j.phase == JobPhase::broken && j.last_end != JobEnd::requeued) s.broken_jobs.insert(id);
  }
  s.ended_members.clear();
  for (const JobId id : s.ended_jobs) {
    if (id.array_index != 0) ++s.ended_members[id.number];
  }
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
    s.dirty_nodes.insert(s.dirty_nodes.end(), NodeId{n});
    if (s.nodes[n].hold == Hold::muster) s.out_nodes.insert(NodeId{n});
  }
  for (const auto& [row, heat] : s.hot_rows) s.dirty_rows.insert(row);
  put_in_groups(s);
  for (const auto& [key, r] : s.orders) {
    if (r.status != Status::pending && r.status != Status::unknown) continue;
    s.open_orders.insert(key);
    const bool known = r.order.action.node.v < s.nodes.size();
    if (r.order.action.verb == Verb::drain_node && r.order.reason.wish.empty() && known) s.out_nodes.insert(r.order.action.node);
    // An order about a broken job is on its way: not decided twice.
    if (about_broken(r.order.action.verb)) s.broken_jobs.erase(r.order.action.job);
  }
  s.queue_dirty = true;
  s.upgrade_dirty = at_work(s.upgrade.phase);
}

}  // namespace muster
