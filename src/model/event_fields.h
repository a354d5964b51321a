// The field lists of event bodies; see fields.h.
#pragma once
#include "model/event.h"

namespace muster {

template <class V> void fields(V& v, Now& n) { v("utc", n.utc); v("steady", n.steady); v("boottime", n.boottime); }
template <class V> void fields(V& v, Source& s) { v("boot", s.boot); v("stream", s.stream); v("seq", s.seq); }
template <class V> void fields(V& v, RunStarted& b) {
  v("version", b.version); v("epoch", b.epoch); v("rules", b.rules); v("journal", b.journal); v("now", b.now);
  v("simulation", b.simulation);
}
template <class V> void fields(V& v, SiteDeclared& b) { v("site", b.site); }
template <class V> void fields(V& v, PoolsDeclared& b) { v("pools", b.pools); }
template <class V> void fields(V& v, CablesDeclared& b) { v("cables", b.cables); }
template <class V> void fields(V& v, PolicyApplied& b) { v("policy", b.policy); v("hash", b.hash); }
template <class V> void fields(V& v, TurnBegan& b) { v("turn", b.turn); v("now", b.now); }
template <class V> void fields(V& v, JobSubmitted& b) { v("job", b.job); v("spec", b.spec); }
template <class V> void fields(V& v, JobStarted& b) {
  v("job", b.job); v("attempt", b.attempt); v("nodes", b.nodes); v("slots", b.slots); v("at", b.at);
}
template <class V> void fields(V& v, JobProgressed& b) { v("job", b.job); v("attempt", b.attempt); v("progress", b.progress); }
template <class V> void fields(V& v, JobEnded& b) {
  v("job", b.job); v("attempt", b.attempt); v("end", b.end); v("progress", b.progress); v("detail", b.detail);
  v("at", b.at);
}
template <class V> void fields(V& v, JobRequeued& b) { v("job", b.job); }
template <class V> void fields(V& v, JobGone& b) { v("job", b.job); v("end", b.end); }
template <class V> void fields(V& v, NodeChanged& b) { v("node", b.node); v("condition", b.condition); v("detail", b.detail); }
template <class V> void fields(V& v, GpuSwapped& b) { v("node", b.node); v("slot", b.slot); v("uuid", b.uuid); }
template <class V> void fields(V& v, FindingOpened& b) { v("finding", b.finding); }
template <class V> void fields(V& v, FindingGrew& b) {
  v("id", b.id); v("severity", b.severity); v("evidence", b.evidence); v("part_of", b.part_of);
}
template <class V> void fields(V& v, FindingCleared& b) { v("id", b.id); v("why", b.why); }
template <class V> void fields(V& v, OrderEnded& b) { v("key", b.key); v("status", b.status); v("detail", b.detail);
  v("score", b.score); }
template <class V> void fields(V& v, CommandGiven& b) {
  v("verb", b.verb); v("actor", b.actor); v("id", b.id); v("node", b.node); v("job", b.job); v("spec", b.spec);
  v("reason", b.reason); v("approval", b.approval); v("upgrade", b.upgrade);
}
template <class V> void fields(V& v, IncidentOpened& b) { v("id", b.id); v("finding", b.finding); }
template <class V> void fields(V& v, IncidentJoined& b) { v("id", b.id); v("finding", b.finding); }
template <class V> void fields(V& v, IncidentMoved& b) {
  v("id", b.id); v("stage", b.stage); v("rung", b.rung); v("due", b.due); v("note", b.note);
}
template <class V> void fields(V& v, IncidentClosed& b) { v("id", b.id); v("resolution", b.resolution); }
template <class V> void fields(V& v, OrderIntended& b) { v("order", b.order); v("placement", b.placement); }
template <class V> void fields(V& v, OrderRefused& b) {
  v("action", b.action); v("reason", b.reason); v("limit", b.limit); v("retry", b.retry);
}
template <class V> void fields(V& v, PriceAnnounced& b) {
  v("from", b.from); v("price_per_mwh", b.price_per_mwh); v("carbon_g_per_kwh", b.carbon_g_per_kwh);
}
template <class V> void fields(V& v, RowMeasured& b) {
  v("row", b.row); v("inlet_c", b.inlet_c); v("hottest_c", b.hottest_c); v("trend_c_per_min", b.trend_c_per_min);
}
template <class V> void fields(V& v, KernelHeard& b) { v("record", b.record); v("trusted", b.trusted); }
template <class V> void fields(V& v, AgentSaid& b) {
  v("node", b.node); v("word", b.word); v("subject", b.subject); v("count", b.count); v("text", b.text);
}
template <class V> void fields(V& v, GpuIdentity& g) {
  v("slot", g.slot); v("uuid", g.uuid); v("serial", g.serial); v("vbios", g.vbios); v("pci", g.pci);
}
template <class V> void fields(V& v, GpuIdentified& b) { v("node", b.node); v("gpu", b.gpu); }
template <class V> void fields(V& v, NodeDescribed& b) { v("node", b.node); v("facts", b.facts); }
template <class V> void fields(V& v, FabricTold& f) {
  v("kind", f.kind); v("ends", f.ends); v("detail", f.detail); v("confidence", f.confidence); v("nodes", f.nodes);
  v("fix", f.fix);
}
template <class V> void fields(V& v, FabricSaid& b) {
  v("complete", b.complete); v("faults", b.faults); v("left_out", b.left_out); v("unknown_nodes", b.unknown_nodes);
  v("name", b.name); v("rates", b.rates); v("flaps", b.flaps);
}
template <class V> void fields(V& v, AcceptFaultTold& f) {
  v("kind", f.kind); v("slot", f.slot); v("failed", f.failed); v("part", f.part); v("text", f.text);
}
template <class V> void fields(V& v, AcceptanceSaid& b) {
  v("node", b.node); v("profile", b.profile); v("passed", b.passed); v("faults", b.faults);
}
template <class V> void fields(V& v, JobDescribed& b) {
  v("job", b.job); v("attempt", b.attempt); v("node", b.node); v("facts", b.facts);
}
template <class V> void fields(V& v, ApprovalAsked& b) {
  v("id", b.id); v("action", b.action); v("reason", b.reason); v("why", b.why); v("until", b.until);
}
template <class V> void fields(V& v, UpgradePhased& b) { v("id", b.id); v("phase", b.phase); v("why", b.why); }
template <class V> void fields(V& v, NodeHeld& b) { v("node", b.node); v("held", b.held); v("by", b.by); v("why", b.why);
  v("engine", b.engine); v("leftovers", b.leftovers); }
template <class V> void fields(V& v, JobAmended& b) { v("job", b.job); v("spec", b.spec); }
template <class V> void fields(V& v, TurnMoved& b) {
  v("id", b.id); v("node", b.node); v("stage", b.stage); v("back", b.back); v("note", b.note);
}
template <class V> void fields(V& v, CauseFrozen& b) { v("cause", b.cause); v("until", b.until); v("why", b.why); }

}  // namespace muster
