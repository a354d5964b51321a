// What a state is asked: who may take work, what is free, who is who; and what of it is not stored.
#include "model/state.h"

#include "model/codec.h"

namespace muster {

bool placeable(const State& s, NodeId id) {
  const NodeState& n = s.nodes[id.v];
  if (n.condition != NodeCondition::up || n.hold != Hold::none) return false;
  if (s.out_nodes.count(id) != 0) return false;  // its drain is under way
  const Incident* i = find_incident(s, n.incident);
  if (i == nullptr || i->stage == Stage::watching) return true;
  const bool held_back = i->stage == Stage::opened && i->due.ns != 0;
  return held_back && !leaves_nothing_to_run_on(i->cause);
}

std::uint16_t all_slots(const Site& site) { return static_cast<std::uint16_t>((1U << site.gpus_per_node) - 1); }

bool room_for(const State& s, NodeId id, std::uint16_t slots, std::uint32_t milli, JobId job) {
  for (std::uint32_t slot = 0; slot < s.site.gpus_per_node; ++slot) {
    if ((slots >> slot & 1) == 0) continue;
    std::uint32_t used = milli;
    for (const Share& x : s.nodes[id.v].shares) {
      if (x.job != job && (x.slots >> slot & 1) != 0) used += x.milli;
    }
    if (used > 1000) return false;
  }
  return true;
}

std::int64_t milli_gpus(const Site& site, const JobSpec& spec) {
  if (spec.gpu_milli > 0) return spec.gpu_milli;
  return std::int64_t{1000} * spec.nodes * (spec.gpus_per_node > 0 ? spec.gpus_per_node : site.gpus_per_node);
}

Amounts amounts_of(const State& s, const JobSpec& spec, std::int64_t milli) {
  Amounts out = {milli, 0, 0, 0};
  const auto scarce = scarce_models(s.policy);
  for (std::size_t k = 0; k < scarce.size(); ++k) {
    if (!spec.gpu_model.empty() && spec.gpu_model == scarce[k]) out[static_cast<std::size_t>(Resource::first_model) + k] = milli;
  }
  return out;
}

std::string command_digest(const CommandGiven& c) {
  CommandGiven plain = c;
  plain.id.clear();
  return render_hex(sha256(encode_body(plain))).substr(0, 16);
}

const Job* find_job(const State& s, JobId id) {
  const auto it = s.jobs.find(id);
  return it == s.jobs.end() ? nullptr : &it->second;
}
std::vector<JobId> members_of(const State& s, JobId id) {
  if (find_job(s, id) != nullptr) return {id};
  std::vector<JobId> out;
  if (id.array_index != 0) return out;
  for (auto it = s.jobs.lower_bound(JobId{id.number, 1}); it != s.jobs.end() && it->first.number == id.number; ++it)
    out.push_back(it->first);
  return out;
}
const Incident* find_incident(const State& s, IncidentId id) {
  const auto it = s.incidents.find(id);
  return it == s.incidents.end() ? nullptr : &it->second;
}
const Finding* find_finding(const State& s, FindingId id) {
  const auto it = s.findings.find(id);
  return it == s.findings.end() ? nullptr : &it->second;
}
NodeId find_node(const Site& site, std::string_view name) {
  for (std::uint32_t i = 0; i < site.nodes.size(); ++i) {
    if (site.nodes[i].name == name) return NodeId{i};
  }
  return {};
}

bool decided(const Body& b) {
  return std::holds_alternative<IncidentOpened>(b) || std::holds_alternative<IncidentJoined>(b) ||
         std::holds_alternative<IncidentMoved>(b) || std::holds_alternative<IncidentClosed>(b) ||
         std::holds_alternative<OrderIntended>(b) || std::holds_alternative<OrderRefused>(b) ||
         std::holds_alternative<CauseFrozen>(b);
}

bool in_hot_row(const State& s, NodeId n) { return !s.hot_rows.empty() && s.hot_rows.count(row_of(s.site, n)) != 0; }

void settle(State& s) {
  s.dirty_incidents.clear();
  s.new_findings.clear();
  s.dirty_nodes.clear();
  s.broken_jobs.clear();
  s.checkpointed.clear();
  s.queue_dirty = false;
  s.dirty_rows.clear();
  s.queue_looked = s.mono();
}

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
  for (const auto& [id, f] : s.findings) {
    if (f.cleared.ns == 0 && in_incident.count(id) == 0) s.new_findings.insert(id);
  }
  for (const auto& [id, j] : s.jobs) {
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
  for (const auto& [key, r] : s.orders) {
    if (r.status != Status::pending && r.status != Status::unknown) continue;
    s.open_orders.insert(key);
    const bool known = r.order.action.node.v < s.nodes.size();
    if (r.order.action.verb == Verb::drain_node && r.order.reason.wish.empty() && known) s.out_nodes.insert(r.order.action.node);
    // An order about a broken job is on its way: not decided twice.
    if (settles_broken(r.order.action.verb)) s.broken_jobs.erase(r.order.action.job);
  }
  s.queue_dirty = true;
}

}  // namespace muster
