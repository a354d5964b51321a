#include "detect/detectors.h"

#include "detect/agents.h"
#include "detect/xid.h"

namespace muster::detect {
namespace {
// A program's error and a link's flap are over when they happen; they are shown for a while.
constexpr Duration kPassingKept = minutes(30);

bool passing(FindingKind k) { return k == FindingKind::app_error || k == FindingKind::link_flap; }

std::uint32_t bit(Witness w) { return 1U << static_cast<unsigned>(w); }
}  // namespace

Detectors::Detectors(const State& s) : counters_(s.site), heat_(s.site), silence_(s.site), slow_(s.site) {
  for (const auto& [id, f] : s.findings) {
    if (f.cleared.ns != 0) continue;
    Open o{id, 0, static_cast<std::uint32_t>(f.evidence.size())};
    for (const Evidence& e : f.evidence) o.witnesses |= bit(e.witness);
    open_[{f.kind, f.node, f.slot, f.job}] = o;
    heat_.take_over(f);
    if (f.node.some() && f.node.v >= s.nodes.size()) continue;
    silence_.take_over(f);
    counters_.take_over(f);
    links_.take_over(f);
    jobs_.take_over(f);
    if (passing(f.kind)) passing_.emplace_back(s.mono(), Key{f.kind, f.node, f.slot, f.job});
  }
}

void Detectors::merge(const Sign& sign, const State& s, Time utc, Time mono, std::uint64_t& next_id, std::vector<Body>& out) {
  const Key key{sign.kind, sign.node, sign.slot, sign.job};
  const auto it = open_.find(key);
  const Finding* known = it == open_.end() ? nullptr : find_finding(s, it->second.id);
  // `known` may be absent because it was opened in this very turn and is not folded yet: its id is then the state's next or
  // later.
  const bool fresh = it != open_.end() && it->second.id.v >= s.next_finding;
  if (it == open_.end() || (!fresh && (known == nullptr || known->cleared.ns != 0))) {
    Finding f;
    f.id = FindingId{next_id++};
    f.kind = sign.kind;
    f.severity = sign.severity;
    f.node = sign.node;
    f.slot = sign.slot;
    f.job = sign.job;
    f.code = sign.code;
    f.opened = utc;
    f.evidence = {sign.evidence};
    open_[key] = {f.id, bit(sign.evidence.witness), 1};
    if (passing(sign.kind)) passing_.emplace_back(mono, key);
    out.push_back(FindingOpened{std::move(f)});
    return;
  }
  // Repeats are worth an event when a new witness speaks, and when their number doubles: a flood of signs is not a flood of
  // events.
  Open& o = it->second;
  ++o.signs;
  const bool new_witness = (o.witnesses & bit(sign.evidence.witness)) == 0;
  const bool doubled = (o.signs & (o.signs - 1)) == 0;
  if (!new_witness && !doubled) return;
  o.witnesses |= bit(sign.evidence.witness);
  out.push_back(FindingGrew{o.id, sign.severity, sign.evidence});
}

std::vector<Body> Detectors::look(std::span<const Sample> samples, std::span<const KernelRecord> kernel,
                                  std::span<const StepReport> steps, std::span<const Body> events, const State& s, Time utc,
                                  Time mono) {
  signs_.seen.clear();
  signs_.gone.clear();
  const auto slots = static_cast<int>(s.site.gpus_per_node);
  const auto on_record = [&](const KernelRecord& r) {
    if (r.node.v >= s.nodes.size() || r.slot >= slots) return;
    on_kernel_record(r, signs_);
    links_.on_kernel_record(r, mono, signs_);
  };
  for (const KernelRecord& r : kernel) on_record(r);
  for (const Sample& m : samples) {
    if (m.node.v >= s.nodes.size() || m.slot >= slots) continue;
    silence_.on_sample(m, s, mono, signs_);
    if (m.field == Field::up) continue;
    counters_.on_sample(m, s, signs_);
    slow_.on_sample(m);
    heat_.on_sample(m, mono);
    links_.on_sample(m, mono, signs_);
  }
  for (const StepReport& r : steps) slow_.on_step(r, s, signs_);
  for (const Body& b : events) {
    if (const KernelRecord* r = trusted_record(b)) on_record(*r);
    on_agent(b, utc, signs_);
    jobs_.on_event(b, s, utc, mono, signs_);
    if (const auto* e = std::get_if<JobEnded>(&b)) slow_.forget(e->job);
  }
  silence_.on_turn(s, utc, mono, signs_);
  links_.on_turn(s, utc, mono, signs_);
  std::vector<Body> measured;
  heat_.on_turn(s, utc, mono, signs_, measured);
  // A GPU that throttles in a hot row is sound: the row's finding says what is wrong.
  std::erase_if(signs_.seen, [&](const Sign& x) { return x.kind == FindingKind::thermal_throttle && heat_.hot(s.site, x.node); });

  for (; !passing_.empty() && mono - passing_.front().first >= kPassingKept; passing_.pop_front()) {
    const auto& [kind, node, slot, job] = passing_.front().second;
    signs_.gone.push_back({kind, node, slot, job, "nothing more of it"});
  }
  std::vector<Body> out;
  std::uint64_t next_id = s.next_finding;
  for (const Sign& sign : signs_.seen) merge(sign, s, utc, mono, next_id, out);
  for (const Relief& r : signs_.gone) {
    const auto it = open_.find({r.kind, r.node, r.slot, r.job});
    if (it == open_.end()) continue;
    const Finding* f = find_finding(s, it->second.id);
    if (it->second.id.v >= s.next_finding || (f != nullptr && f->cleared.ns == 0))
      out.push_back(FindingCleared{it->second.id, r.why});
    open_.erase(it);
  }
  out.insert(out.end(), std::make_move_iterator(measured.begin()), std::make_move_iterator(measured.end()));
  return out;
}

Time Detectors::next(const State& s) const {
  const Time over = passing_.empty() ? kNever : passing_.front().first + kPassingKept;
  return std::min({silence_.next(s), links_.next(), heat_.next(), over});
}

}  // namespace muster::detect
