#include "trial/score.h"

#include <algorithm>

namespace muster::trial {
namespace {

constexpr Duration kLate = minutes(20);  // a fault that is over may still be found this much later (a job's time-out, say)

bool about_hardware(FindingKind k) { return k != FindingKind::job_failed && k != FindingKind::app_error; }

double percentile(std::vector<double> v, double p) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<std::size_t>(p * static_cast<double>(v.size())))];
}

}  // namespace

void Score::begin(const State& s) {
  most_out_ = s.out_nodes.size();
  for (const auto& [id, f] : s.findings) {
    if (f.cleared.ns == 0) findings_[f.node].push_back({s.now.utc, f.kind, f.code});
  }
  for (const auto& [id, i] : s.incidents) {
    if (i.closed.ns == 0) incidents_[id] = {i.node, {i.opened, {}, false}};
  }
}

void Score::on_event(const Event& e, const State& s) {
  most_out_ = std::max(most_out_, s.out_nodes.size());
  if (const auto* f = std::get_if<FindingOpened>(&e.body))
    findings_[f->finding.node].push_back({e.utc, f->finding.kind, f->finding.code});
  if (const auto* g = std::get_if<FindingGrew>(&e.body)) {
    if (const Finding* f = find_finding(s, g->id)) findings_[f->node].push_back({e.utc, f->kind, f->code});
  }
  if (const auto* i = std::get_if<IncidentOpened>(&e.body)) {
    const Incident* x = find_incident(s, i->id);
    if (x != nullptr) incidents_[i->id] = {x->node, {e.utc, {}, false, x->cause}};
  }
  if (const auto* i = std::get_if<IncidentClosed>(&e.body)) incidents_[i->id].second.closed = e.utc;
  if (const auto* o = std::get_if<OrderIntended>(&e.body); o != nullptr && o->order.action.verb == Verb::drain_node) {
    const auto it = incidents_.find(o->order.reason.incident);
    if (it != incidents_.end()) it->second.second.drained = true;
  }
}

// Only what a policy takes back of what ships is its own word: what nobody acts on (link_flap, say) excuses nothing, and under
// the shipped policy nothing is left to people.
bool Score::is_left_to_people(const twin::FaultTruth& f, const State& s) const {
  const auto seen = findings_.find(f.node);
  if (!f.node.some() || seen == findings_.end()) return false;
  const auto of_it = [&](const Seen& x) { return about_hardware(x.kind) && x.at >= f.began; };
  if (in_shadow(s, f.node)) return std::any_of(seen->second.begin(), seen->second.end(), of_it);
  const auto acts = [](const Runbook* r) { return r != nullptr && r->act; };
  for (const auto& [id, x] : s.findings) {
    if (x.node == f.node && x.cleared.ns == 0 && acts(runbook_for(s, x.node, x.kind, x.code))) return false;
  }
  return std::any_of(seen->second.begin(), seen->second.end(), [&](const Seen& x) {
    return of_it(x) && acts(find_runbook(shipped_, x.kind, x.code)) && !acts(runbook_for(s, f.node, x.kind, x.code));
  });
}

Score::Hands Score::hands_of(const twin::FaultTruth& f, const State& s) const {
  const Incident* i = f.node.some() ? find_incident(s, s.nodes[f.node.v].incident) : nullptr;
  if (i != nullptr && i->stage == Stage::held) return Hands::held;
  return is_left_to_people(f, s) ? Hands::policy : Hands::nobody;
}

Marks Score::marks(const std::vector<twin::FaultTruth>& truth, const State& s, Time end, Duration grace) const {
  Marks m;
  std::map<NodeId, std::vector<const Span*>> spans;
  for (const auto& [id, i] : incidents_) spans[i.first].push_back(&i.second);
  std::map<NodeId, std::vector<const twin::FaultTruth*>> faults;
  std::vector<double> healed;
  std::vector<double> outages;
  for (const twin::FaultTruth& f : truth) {
    faults[f.node].push_back(&f);
    if (f.kind == twin::FaultKind::app_bug) continue;
    ++m.injected;
    const Time until = f.fate == twin::Fate::active ? kNever : f.ended + kLate;
    bool found = false;
    if (const auto it = findings_.find(f.node); it != findings_.end()) {
      found = std::any_of(it->second.begin(), it->second.end(),
                          [&](const Seen& x) { return about_hardware(x.kind) && x.at >= f.began && x.at <= until; });
    }
    const Span* healing = nullptr;
    for (const Span* x : spans[f.node]) {
      const bool overlaps = x->opened <= until && (x->closed.ns == 0 || x->closed >= f.began);
      if (!overlaps) continue;
      found = true;
      if (x->closed.ns != 0 && healing == nullptr) healing = x;
    }
    if (healing != nullptr && f.node.some()) healed.push_back((healing->closed - f.began).seconds());
    if (f.node.some()) {
      const Time over = healing != nullptr ? healing->closed : f.fate == twin::Fate::active ? end : f.ended;
      outages.push_back((over - f.began).seconds());
    }
    if (found) {
      ++m.detected;
    } else if (end - f.began > grace) {
      ++m.missed;
      ++m.missed_kinds[std::string(name_of(f.kind))];
    }
    if (f.fate == twin::Fate::active) {
      const Hands hands = hands_of(f, s);
      m.unfinished += hands == Hands::nobody ? 1 : 0;
      m.left_to_people += hands == Hands::policy ? 1 : 0;
    }
  }
  for (const auto& [id, i] : incidents_) {
    if (!i.second.drained || !i.first.some()) continue;
    const bool real = std::any_of(faults[i.first].begin(), faults[i.first].end(), [&](const twin::FaultTruth* f) {
      return f->kind != twin::FaultKind::app_bug && f->began <= i.second.opened &&
             (f->fate == twin::Fate::active || f->ended + kLate >= i.second.opened);
    });
    if (real) continue;
    ++m.false_alarms;
    ++m.false_kinds[std::string(name_of(i.second.cause))];
  }
  m.healed = healed.size();
  m.mttr_p50_s = percentile(healed, 0.5);
  m.mttr_p99_s = percentile(healed, 0.99);
  m.on_nodes = outages.size();
  m.outage_p50_s = percentile(outages, 0.5);
  m.outage_p99_s = percentile(outages, 0.99);
  m.most_out = most_out_;
  return m;
}

}  // namespace muster::trial
