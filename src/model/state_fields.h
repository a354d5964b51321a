// The field lists of the state; see fields.h. What is derived or concerns one turn only is not listed.
#pragma once
#include "model/event_fields.h"
#include "model/state.h"

namespace muster {

template <class V> void fields(V& v, Share& s) { v("job", s.job); v("slots", s.slots); v("milli", s.milli); }
template <class V> void fields(V& v, FactSheet& s) { v("gpus", s.gpus); v("facts", s.facts); }
template <class V> void fields(V& v, NodeFacts& f) {
  FactSheet sheet = f.sheet();
  fields(v, sheet);
  if (!sheet.gpus.empty() || !sheet.facts.empty()) f.set(std::move(sheet));
}
template <class V> void fields(V& v, PastIncident& p) {
  v("opened", p.opened); v("cause", p.cause); v("slot", p.slot); v("repairs", p.repairs); v("stopped_job", p.stopped_job);
}
template <class V> void fields(V& v, Approval& a) {
  v("id", a.id); v("action", a.action); v("incident", a.incident); v("why", a.why); v("sentence", a.sentence);
  v("asked", a.asked); v("until", a.until); v("granted", a.granted); v("rejected", a.rejected);
  v("by", a.by); v("answer", a.answer);
}
template <class V> void fields(V& v, NodeState& n) {
  v("condition", n.condition); v("hold", n.hold); v("hold_reason", n.hold_reason); v("incident", n.incident);
  v("shares", n.shares); v("changed", n.changed); v("swaps", n.swaps); v("incidents", n.incidents);
  v("known", n.known); v("past", n.past);
}
template <class V> void fields(V& v, RowHeat& r) {
  v("last", r.last); v("at", r.at); v("finding", r.finding); v("limit_pct", r.limit_pct); v("before_pct", r.before_pct);
  v("limited", r.limited); v("again", r.again);
}
template <class V> void fields(V& v, OrderRecord& o) {
  v("order", o.order); v("status", o.status); v("detail", o.detail); v("intended", o.intended);
  v("intended_mono", o.intended_mono); v("ended", o.ended); v("score", o.score);
}
template <class V> void fields(V& v, Harm& h) {
  v("at", h.at); v("verb", h.verb); v("node", h.node); v("job", h.job); v("cause", h.cause);
}
template <class V> void fields(V& v, RefusalRecord& r) {
  v("at", r.at); v("action", r.action); v("limit", r.limit); v("incident", r.incident);
}
template <class V> void fields(V& v, Opened& o) { v("at", o.at); v("node", o.node); v("cause", o.cause); }
template <class V> void fields(V& v, CommandRecord& c) { v("id", c.id); v("seq", c.seq); v("digest", c.digest); }
template <class V> void fields(V& v, StreamPosition& p) { v("boot", p.boot); v("seq", p.seq); }
template <class V> void fields(V& v, Totals& t) {
  v("jobs_submitted", t.jobs_submitted); v("jobs_completed", t.jobs_completed); v("jobs_failed", t.jobs_failed);
  v("jobs_cancelled", t.jobs_cancelled); v("requeues", t.requeues); v("incidents", t.incidents); v("orders", t.orders);
  v("refusals", t.refusals); v("jobs_timed_out", t.jobs_timed_out);
}
template <class V> void fields(V& v, QueueUse& q) { v("past", q.past); v("held", q.held); }
template <class V> void fields(V& v, State& s) {
  v("seq", s.seq); v("turn", s.turn); v("now", s.now); v("mono_offset", s.mono_offset); v("utc_jump", s.utc_jump);
  v("epoch", s.epoch); v("rules", s.rules); v("journal", s.journal); v("paused", s.paused); v("paused_by", s.paused_by);
  v("policy", s.policy);
  v("policy_hash", s.policy_hash); v("site", s.site); v("cables", s.site.cables);
  v("pools", s.site.pools); v("nodes", s.nodes); v("jobs", s.jobs); v("queue", s.queue);
  v("ended_jobs", s.ended_jobs); v("findings", s.findings); v("incidents", s.incidents);
  v("closed_incidents", s.closed_incidents); v("cleared_findings", s.cleared_findings); v("orders", s.orders);
  v("ended_orders", s.ended_orders); v("harms", s.harms); v("openings", s.openings); v("refusals", s.refusals);
  v("frozen", s.frozen); v("approvals", s.approvals); v("next_approval", s.next_approval); v("upgrade", s.upgrade);
  v("streams", s.streams); v("commands", s.commands); v("wishes", s.wishes);
  v("next_finding", s.next_finding); v("next_incident", s.next_incident); v("next_order", s.next_order); v("totals", s.totals);
  v("prices", s.prices); v("hot_rows", s.hot_rows); v("histories", s.histories); v("used", s.used);
}

}  // namespace muster
