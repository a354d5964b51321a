#include "diagnose/remedies.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace muster::diagnose {

Remedies::Remedies(const Profile& p, const Replay& replay, const Peaks& peaks, const Verdict& verdict)
    : p_(p), t_(*p.trace), peaks_(peaks), verdict_(verdict), replay_(replay) {
  steps_ = static_cast<double>(p.line.steps.size());
  for (std::size_t i = 0; i < 3; ++i) {
    Change bare;
    bare.host_event_ns = kProfilerNs[i];
    base_[i] = replay_.step_ns(bare);
  }
}

std::vector<Finding> Remedies::all() {
  input();
  sync();
  copies();
  launches();
  plain_fp32();
  unfused();
  optimizer();
  slow_products();
  fewer_bits();
  exchanges();
  small_grids();
  allocations();
  elsewhere();
  unmended();
  std::stable_sort(out_.begin(), out_.end(),
                   [](const Ranked& x, const Ranked& y) { return x.first != y.first ? x.first : x.weight > y.weight; });
  std::vector<Finding> findings;
  for (Ranked& r : out_) findings.push_back(std::move(r.finding));
  return findings;
}

std::string Remedies::where(std::uint32_t e) const {
  const GpuEvent& event = *p_.line.events[e];
  return event.correlation == kNoCorrelation
             ? fmt::format("{}: ts {:.3f}", p_.file, static_cast<double>(event.span.start_ns) / 1e3)
             : fmt::format("{}: correlation {}", p_.file, event.correlation);
}

void Remedies::put(Bound about, Finding f, const Change* change, double rough, double slower_ns) {
  Ranked r;
  if (change != nullptr) {
    double gain[3];
    for (std::size_t i = 0; i < 3; ++i) {
      Change c = *change;
      c.host_event_ns = kProfilerNs[i];
      const auto after = std::max(static_cast<double>(replay_.step_ns(c)), slower_ns);
      gain[i] = base_[i] > 0 ? 100 * (1 - after / static_cast<double>(base_[i])) : 0;
      if (i == 0 && gain[0] < 1) return;  // not worth its interval
    }
    const double least = std::min({gain[0], gain[1], gain[2]}), most = std::max({gain[0], gain[1], gain[2]});
    // Both ends of what the profiler may have taken are unlikely: half the way to each. And nothing saves more than what it is
    // about takes, whatever else would follow from it.
    const double told = (gain[0] + most) / 2 + rough, high = std::min({99.0, f.cost_pct, told});
    const double low = std::max(0.0, (gain[0] + least) / 2 - rough);
    // Where the replay says much more than that, it gains by what comes with it: how much is left then is anybody's guess.
    f.gain = Gain{gain[0] > f.cost_pct + rough ? std::min(low, high / 2) : std::min(low, high), high};
    gain[0] = std::min(gain[0], f.cost_pct);
    if (f.achieved.empty() && f.expected.empty()) f.achieved = ms_words(in_ms(p_.line.step_ns())) + " a step";
    if (f.expected.empty()) f.expected = ms_words(in_ms(p_.line.step_ns()) * (1 - gain[0] / 100)) + " a step";
    r.weight = gain[0];
  } else {
    r.weight = f.cost_pct / 4;
  }
  f.confidence = p_.replay_error > 0.03
                     ? Confidence::low
                     : std::min(f.confidence, p_.line.steps.size() > 1 ? Confidence::high : Confidence::medium);
  if (f.verify.empty()) f.verify = "profile it again, and `muster diagnose --diff BEFORE AFTER`";
  r.first = bounds(about);
  r.finding = std::move(f);
  out_.push_back(std::move(r));
}

std::map<std::string, std::pair<std::int64_t, std::uint32_t>> Remedies::during(Part part) const {
  std::map<std::string, std::pair<std::int64_t, std::uint32_t>> out;
  for (const Gap& g : p_.line.gaps) {
    if (g.part != part) continue;
    auto& [ns, count] = out[g.during == kNone ? std::string(kNothingRecorded) : printable(t_.names[g.during])];
    ns += g.span.length();
    ++count;
  }
  return out;
}

const Gap* Remedies::longest(Part part) const {
  const Gap* out = nullptr;
  for (const Gap& g : p_.line.gaps) {
    if (g.part == part && (out == nullptr || g.span.length() > out->span.length())) out = &g;
  }
  return out;
}

void Remedies::say_gaps(Part part, Finding& f) const {
  for (const auto& [name, seen] : during(part)) {
    if (seen.first * 20 < a_step(1) + p_.line.parts()[static_cast<std::size_t>(part)]) continue;
    f.evidence.push_back(fmt::format("{:.4g} ms a step, {} gaps: {}", in_ms(a_step(seen.first)), seen.second, name));
  }
  if (const Gap* g = longest(part))
    f.evidence.push_back(fmt::format("the longest, {:.4g} ms, before {}", in_ms(g->span.length()), where(g->next)));
}

std::vector<std::int64_t> Remedies::measured() const {
  std::vector<std::int64_t> out;
  out.reserve(p_.line.events.size());
  for (const GpuEvent* e : p_.line.events) out.push_back(e->span.length());
  return out;
}

std::vector<Finding> profile_findings(const Profile& p, const Replay& replay, const Peaks& peaks, const Verdict& verdict) {
  if (p.line.events.empty()) return {};
  return Remedies(p, replay, peaks, verdict).all();
}

}  // namespace muster::diagnose
