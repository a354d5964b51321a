// What many findings have in common: which open ones an open common cause explains; and how old evidence is when the clock was
// set.
#include "model/state.h"

namespace muster {
namespace {

bool open(const Finding& f) { return f.cleared.ns == 0; }

void explain(State& s, const Finding& f) {
  if (!f.node.some() || f.node.v >= s.nodes.size()) return;
  s.explained[f.node].insert(f.id);
  s.dirty_nodes.insert(f.node);
  if (s.nodes[f.node.v].incident.some()) s.dirty_incidents.insert(s.nodes[f.node.v].incident);
}

// Nothing explains it any more: what is wrong with its node is looked at by itself, by the incident that knows it or a new one.
// Also when it is about to become part of another cause: a wider one may explain nothing, and then nobody else would.
void forget(State& s, const Finding& f) {
  const auto it = s.explained.find(f.node);
  if (it == s.explained.end() || it->second.erase(f.id) == 0) return;
  if (it->second.empty()) s.explained.erase(it);
  s.dirty_nodes.insert(f.node);
  s.queue_dirty = true;
  const IncidentId mine = s.nodes[f.node.v].incident;
  const Incident* i = find_incident(s, mine);
  const bool known = i != nullptr && std::find(i->findings.begin(), i->findings.end(), f.id) != i->findings.end();
  if (mine.some()) s.dirty_incidents.insert(mine);
  if (!known) s.new_findings.insert(f.id);
}

// New work goes elsewhere, or may come back: whoever places it looks at the leaf's nodes again.
void suspect(State& s, std::uint32_t leaf, bool on) {
  std::uint32_t& count = s.suspect_leaves[leaf];
  if (on) {
    ++count;
  } else if (count > 0) {
    --count;
  }
  const bool first_or_last = count == (on ? 1U : 0U);
  if (count == 0) s.suspect_leaves.erase(leaf);
  if (!first_or_last) return;
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
    if (s.site.nodes[n].leaf == leaf) s.dirty_nodes.insert(NodeId{n});
  }
}

}  // namespace

const Finding* cause_of(const State& s, const Finding& f) {
  const Finding* c = f.part_of.some() ? find_finding(s, f.part_of) : nullptr;
  return c != nullptr && open(*c) && explains(*c) ? c : nullptr;
}

const Finding* cause_of(const State& s, const Incident& i) {
  const Finding* cause = nullptr;
  if (!i.node.some() || s.explained.count(i.node) == 0) return nullptr;
  for (FindingId id : i.findings) {
    const Finding* f = find_finding(s, id);
    if (f == nullptr || !open(*f)) continue;
    const Finding* c = cause_of(s, *f);
    if (c == nullptr) return nullptr;
    cause = c;
  }
  return cause;
}

void index_finding(State& s, FindingId id) {
  const Finding* f = find_finding(s, id);
  if (f == nullptr || !open(*f)) return;
  ++s.open_kinds[f->kind];
  if (f->kind == FindingKind::common_cause && f->subject == kEngineSubject) s.engine_away = id;
  if (const auto leaf = suspect_leaf(*f)) suspect(s, *leaf, true);
  if (cause_of(s, *f) != nullptr) explain(s, *f);
  if (!explains(*f)) return;
  for (const auto& [other, x] : s.findings) {  // those that opened in the same turn came before it
    if (x.part_of == id && open(x)) explain(s, x);
  }
}

void unindex_finding(State& s, FindingId id) {
  const Finding* f = find_finding(s, id);
  if (f == nullptr || !open(*f)) return;
  if (const auto it = s.open_kinds.find(f->kind); it != s.open_kinds.end() && --it->second == 0) s.open_kinds.erase(it);
  if (const auto leaf = suspect_leaf(*f)) suspect(s, *leaf, false);
  forget(s, *f);
  if (!explains(*f)) return;
  // What is still wrong with its nodes is looked at node by node again.
  for (const auto& [other, x] : s.findings) {
    if (x.part_of != id || !open(x) || !x.node.some() || x.node.v >= s.nodes.size()) continue;
    forget(s, x);
  }
}

void clear_finding(State& s, FindingId id, Time utc) {
  unindex_finding(s, id);
  if (const auto it = s.findings.find(id); it != s.findings.end()) it->second.cleared = utc;
  if (s.engine_away == id) refresh(s);  // what was left undone meanwhile
}

Duration evidence_age(const State& s, Time at) {
  const Duration age = s.now.utc - at;
  if (s.utc_jump.ns == 0) return age;
  // Whoever measured may or may not have had the clock that was set: the younger reading is the true one, unless it lies ahead.
  const Duration other = age - s.utc_jump;
  if (age.ns < 0) return other.ns < 0 ? std::max(age, other) : other;
  return other.ns < 0 ? age : std::min(age, other);
}

}  // namespace muster
