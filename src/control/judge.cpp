#include "control/judge.h"

#include "account/accountant.h"
#include "act/ledger.h"
#include "base/log.h"

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

bool all_placeable(const State& s, const std::vector<NodeId>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId n) { return placeable(s, n); });
}

bool changed(const State& s) {
  const bool timed = !s.paused && !s.timers.empty() && s.timers.begin()->first <= s.mono();
  return timed || s.queue_dirty || !s.dirty_incidents.empty() || !s.new_findings.empty() || !s.broken_jobs.empty() ||
         !s.dirty_nodes.empty() || !s.wishes.empty();
}

}  // namespace

void fold_event(Books& b, const Event& e) {
  fold(b.state, e);
  account::keep(b.accounts, e, b.state);
}

void Judge::judge(Books& b, decide::Decision&& d, std::vector<Event>& out) {
  if (auto* body = std::get_if<Body>(&d)) return add(b, std::move(*body), out);
  auto& w = std::get<decide::Wanted>(d);
  if (w.action.verb == Verb::start_job && !all_placeable(b.state, w.action.nodes)) {
    // Something decided before it in this pass took one of its nodes: it is placed anew in the next.
    b.state.dirty_nodes.insert(w.action.nodes.begin(), w.action.nodes.end());
    b.state.queue_dirty = true;
    return;
  }
  act::Verdict v = guard_.check(b.state, w.action, w.reason);
  if (v.allowed) {
    Order o = act::make_order(b.state, std::move(w.action), std::move(w.reason), std::move(v.budget));
    return add(b, OrderIntended{std::move(o), std::move(w.placement)}, out);
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
