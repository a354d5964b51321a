#include "control/judge.h"

#include "account/accountant.h"
#include "act/ledger.h"
#include "base/log.h"
#include "decide/pace/pace.h"

namespace muster::control {
namespace {

constexpr int kPassesMax = 64;  // decisions feed on each other for a few passes at most; this only bounds a defect

void add(Books& b, Body body, std::vector<Event>& out) {
  Event e;
  e.seq = b.state.seq + 1;
  e.source.stream = "muster";
  e.utc = b.state.now.utc;
  e.body = std::move(body);
  fold_event(b, e);
  out.push_back(std::move(e));
}

// Whether the gang's GPUs are still free: something decided before it in this pass may have taken one.
bool all_free(const State& s, const Action& a) {
  const Job* j = find_job(s, a.job);
  const std::uint32_t milli = j != nullptr && j->spec.gpu_milli > 0 ? j->spec.gpu_milli : 1000;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const auto& shares = s.nodes[a.nodes[i].v].shares;
    const bool mine = std::any_of(shares.begin(), shares.end(), [&](const Share& x) { return x.job == a.job; });
    if (!mine && !placeable(s, a.nodes[i])) return false;
    if (!room_for(s, a.nodes[i], i < a.slots.size() ? a.slots[i] : all_slots(s.site), milli, a.job)) return false;
  }
  return true;
}

bool changed(const State& s) {
  return decide::Decider::next(s) <= s.mono() || s.queue_dirty || !s.dirty_incidents.empty() || !s.new_findings.empty() ||
         !s.broken_jobs.empty() || !s.dirty_nodes.empty() || !s.dirty_rows.empty() || !s.wishes.empty() || s.upgrade_dirty ||
         decide::pace_due(s);
}

}  // namespace

void fold_event(Books& b, const Event& e) {
  fold(b.state, e);
  account::keep(b.accounts, e, b.state);
}

void Judge::judge(Books& b, decide::Decision&& d, std::vector<Event>& out) {
  if (auto* body = std::get_if<Body>(&d)) return add(b, std::move(*body), out);
  auto& w = std::get<decide::Wanted>(d);
  const bool places = w.action.verb == Verb::start_job || w.action.verb == Verb::restart_job;
  if (places && !all_free(b.state, w.action)) {  // it is placed anew in the next pass
    b.state.dirty_nodes.insert(w.action.nodes.begin(), w.action.nodes.end());
    b.state.queue_dirty = true;
    if (w.action.verb == Verb::restart_job && find_job(b.state, w.action.job) != nullptr &&
        find_job(b.state, w.action.job)->phase == JobPhase::broken) {
      b.state.broken_jobs.insert(w.action.job);
    }
    return;
  }
  act::Verdict v = guard_.check(b.state, w.action, w.reason);
  if (v.allowed) {
    Order o = act::make_order(b.state, std::move(w.action), std::move(w.reason), std::move(v.budget));
    return add(b, OrderIntended{std::move(o), std::move(w.placement)}, out);
  }
  if (v.ask) {
    return add(b, ApprovalAsked{b.state.next_approval, std::move(w.action), std::move(w.reason), std::move(v.limit), v.retry},
               out);
  }
  if (v.freeze) {
    const Incident* i = find_incident(b.state, w.reason.incident);
    add(b, CauseFrozen{i->cause, v.retry, v.limit}, out);
  }
  add(b, OrderRefused{std::move(w.action), std::move(w.reason), std::move(v.limit), v.retry}, out);
}

std::vector<Event> Judge::decide(Books& b) {
  std::vector<Event> out;
  for (int pass = 0; pass < kPassesMax && changed(b.state); ++pass) {
    decide::Decisions decisions = decider_.decide(b.state);
    settle(b.state);
    for (decide::Decision& d : decisions) judge(b, std::move(d), out);
  }
  if (changed(b.state) && !out.empty()) log(LogLevel::error, "decisions of a turn do not settle: they feed on each other");
  return out;
}

}  // namespace muster::control
