#include "model/fold_recovery.h"

#include <algorithm>

namespace muster {
namespace {
constexpr Duration kPastFor = days(28);
}

Stage stage_during(Verb v, Stage otherwise) {
  switch (v) {
    case Verb::drain_node: return Stage::draining;
    case Verb::test_node: return Stage::testing;
    case Verb::undrain_node: return Stage::returning;
    default: return is_repair(v) ? Stage::repairing : otherwise;
  }
}

void note(Incident& i, Time utc, std::string text) {
  constexpr std::size_t kNotesKept = 40;
  if (text.empty()) return;
  i.notes.push_back({utc, std::move(text)});
  if (i.notes.size() > kNotesKept) i.notes.erase(i.notes.begin() + 1);  // the first one says how it began
}

CommandGiven wish_of(const Order& o) {
  CommandGiven c;
  switch (o.action.verb) {
    case Verb::drain_node: c.verb = CommandVerb::drain; break;
    case Verb::undrain_node: c.verb = CommandVerb::undrain; break;
    case Verb::cancel_job: c.verb = CommandVerb::cancel; break;
    default: c.verb = CommandVerb::submit; break;
  }
  c.actor = o.reason.actor;
  c.id = o.reason.wish;
  c.node = o.action.node;
  c.job = o.action.job;
  c.spec = o.action.spec;
  c.reason = "given again: the engine had not received it";
  return c;
}

void never_arrived(State& s, const OrderRecord& r) {
  s.engine_asked = s.mono();
  const auto it = std::find_if(s.harms.rbegin(), s.harms.rend(), [&](const Harm& h) {
    return h.at == r.intended_mono && h.verb == r.order.action.verb && h.job == r.order.action.job &&
           (!h.node.some() || h.node == r.order.action.node);
  });
  if (it != s.harms.rend()) s.harms.erase(std::next(it).base());
}

void remember(NodeState& n, const Incident& i, const State& s) {
  const Runbook* r = runbook_for(s, i);
  if (r == nullptr || !r->act || i.tries == 0) return;  // only watched, or over before anything was done
  const Time now = s.mono();
  std::erase_if(n.past, [&](const PastIncident& p) { return now - p.opened > kPastFor; });
  if (n.past.size() >= kPastKept) n.past.erase(n.past.begin());
  n.past.push_back({now - (i.closed - i.opened), i.cause, i.slot, i.repairs, i.job.some()});
}

void ask_approval(State& s, const ApprovalAsked& b, Time utc) {
  Approval a;
  a.id = b.id;
  a.action = b.action;
  a.incident = b.reason.incident;
  a.why = b.why;
  a.sentence = b.reason.sentence;
  a.asked = utc;
  a.until = b.until;
  // The same question again: the old one is answered by nobody any more.
  std::erase_if(s.approvals, [&](const auto& x) {
    return x.second.incident == a.incident && x.second.action.verb == a.action.verb && !x.second.granted;
  });
  s.next_approval = std::max(s.next_approval, b.id + 1);
  s.approvals[b.id] = std::move(a);
}

void answer_approval(State& s, const CommandGiven& c) {
  const auto it = s.approvals.find(c.approval);
  if (it == s.approvals.end() || it->second.granted || it->second.rejected) return;
  Approval& a = it->second;
  (c.verb == CommandVerb::approve ? a.granted : a.rejected) = true;
  a.by = c.actor;
  a.answer = c.reason;
  const auto i = s.incidents.find(a.incident);
  if (i == s.incidents.end() || i->second.closed.ns != 0) return;
  s.timers.erase({i->second.due, a.incident});  // it need not wait any longer
  i->second.due = s.mono();
  s.timers.insert({i->second.due, a.incident});
  s.dirty_incidents.insert(a.incident);
}

void forget_approvals(State& s, IncidentId of) {
  std::erase_if(s.approvals, [&](const auto& x) { return x.second.incident == of; });
}

const Runbook* runbook_for(const State& s, NodeId n, FindingKind kind, std::int32_t code) {
  const bool grouped = n.v < s.group.size() && s.group[n.v] >= 0;
  if (grouped) {
    const auto& own = s.policy.groups[static_cast<std::size_t>(s.group[n.v])].runbooks;
    if (const Runbook* r = find_runbook(own, kind, code)) return r;
  }
  return find_runbook(s.policy, kind, code);
}

bool in_shadow(const State& s, NodeId n) {
  if (s.policy.shadow) return true;
  return n.v < s.group.size() && s.group[n.v] >= 0 && s.policy.groups[static_cast<std::size_t>(s.group[n.v])].shadow;
}

std::uint32_t repeats(const State& s, NodeId n, FindingKind cause, Duration within) {
  if (n.v >= s.nodes.size()) return 0;
  const auto& past = s.nodes[n.v].past;
  return static_cast<std::uint32_t>(std::count_if(
      past.begin(), past.end(), [&](const PastIncident& p) { return p.cause == cause && s.mono() - p.opened <= within; }));
}

double lemon_score(const State& s, NodeId n) {
  double score = 0;
  for (const PastIncident& p : s.nodes[n.v].past) {
    if (s.mono() - p.opened <= kPastFor) score += 1 + (p.stopped_job ? 1 : 0) + 0.5 * p.repairs;
  }
  return score;
}

bool checkpoint_known(const Job& j) { return j.spec.checkpoint_every_s >= 0 || j.progress.durable_steps > 0; }

}  // namespace muster
