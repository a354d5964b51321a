#include "model/fold_upgrade.h"

namespace muster {
namespace {

void enter(State& s, UpgradePhase phase, std::string why, Time utc) {
  Upgrade& u = s.upgrade;
  u.phase = phase;
  u.why = std::move(why);
  u.since = s.mono();
  u.due = s.mono();
  u.ended = at_work(phase) ? Time{} : utc;
  s.upgrade_dirty = true;
}

}  // namespace

void begin_upgrade(State& s, const CommandGiven& c, const Event& e) {
  if (at_work(s.upgrade.phase) || c.upgrade.version.empty()) return;
  s.upgrade = {};
  s.upgrade.id = e.seq;
  s.upgrade.spec = c.upgrade;
  s.upgrade.by = c.actor;
  s.upgrade.began = e.utc;
  s.upgrade.began_mono = s.mono();
  for (const NodeState& n : s.nodes) s.upgrade.baseline += static_cast<std::uint32_t>(n.past.size());
  enter(s, UpgradePhase::canary, c.reason, e.utc);
}

void turn_upgrade(State& s, const CommandGiven& c, Time utc) {
  const UpgradePhase now = s.upgrade.phase;
  const bool stop = c.verb == CommandVerb::upgrade_stop;
  if (s.upgrade.id == 0 || (stop && !at_work(now))) return;
  if (!stop && (now == UpgradePhase::rolling_back || now == UpgradePhase::rolled_back || s.upgrade.spec.before.empty())) return;
  enter(s, stop ? UpgradePhase::stopping : UpgradePhase::rolling_back,
        c.actor + (stop ? " stopped it" : " has it taken back") + (c.reason.empty() ? "" : ": " + c.reason), utc);
}

void phase_upgrade(State& s, const UpgradePhased& p, Time utc) {
  if (p.id == s.upgrade.id) enter(s, p.phase, p.why, utc);
}

void move_turn(State& s, const TurnMoved& m) {
  Upgrade& u = s.upgrade;
  if (m.id != u.id || m.node.v >= s.nodes.size()) return;
  const bool fresh = u.turns.count(m.node) == 0;
  Turn& t = u.turns[m.node];
  if (fresh) t.canary = u.phase == UpgradePhase::canary;
  if (m.back && !t.back) t.tries = 0;
  t.stage = m.stage;
  t.back = m.back;
  t.since = s.mono();
  t.pending.clear();
  t.note = m.note;
  if (m.stage == TurnStage::watched) t.returned = s.mono();
  s.dirty_nodes.insert(m.node);
  // Recovery has waited for the turn to be over.
  if (s.nodes[m.node.v].incident.some()) s.dirty_incidents.insert(s.nodes[m.node.v].incident);
  s.queue_dirty = true;
  s.upgrade_dirty = true;
}

void turn_ordered(State& s, const Order& o) {
  const auto it = s.upgrade.turns.find(o.action.node);
  if (o.reason.upgrade != s.upgrade.id || it == s.upgrade.turns.end() || !on_node(o.action.verb)) return;
  Turn& t = it->second;
  t.pending = o.key;
  ++t.tries;
  t.since = s.mono();
  if (o.action.verb == Verb::install) t.stage = TurnStage::installing;
  if (o.action.verb == Verb::test_node && t.stage != TurnStage::measuring) t.stage = TurnStage::testing;
  if (o.action.verb == Verb::undrain_node) t.stage = TurnStage::returning;
}

void turn_answered(State& s, const OrderRecord& r) {
  s.upgrade_dirty = true;
  const auto it = s.upgrade.turns.find(r.order.action.node);
  if (r.order.reason.upgrade != s.upgrade.id || it == s.upgrade.turns.end()) return;
  Turn& t = it->second;
  if (r.order.action.verb == Verb::test_node && r.status == Status::done && !t.back)
    (t.stage == TurnStage::measuring ? t.score_before : t.score_after) = r.score;
  // One that failed half-way may have left anything there: what is not known to be old is taken back.
  if (r.order.action.verb == Verb::install && r.status != Status::refused && r.status != Status::not_received)
    t.installed = !(t.back && r.status == Status::done);
}

void turn_refused(State& s, const OrderRefused& r) {
  constexpr Duration kAgain = minutes(5);
  const auto it = s.upgrade.turns.find(r.action.node);
  if (r.reason.upgrade != s.upgrade.id || it == s.upgrade.turns.end()) return;
  Turn& t = it->second;
  t.since = s.mono();
  t.pending.clear();
  t.note = r.limit;
  if (t.tries > 0 || t.installed) return;
  s.upgrade.due = std::min(std::max(r.retry, s.mono() + minutes(1)), s.mono() + kAgain);
  s.upgrade.turns.erase(it);
}

bool in_turn(const State& s, NodeId n) {
  const auto it = s.upgrade.turns.find(n);
  return it != s.upgrade.turns.end() && at_work(s.upgrade.phase) && is_out(it->second.stage);
}

}  // namespace muster
