// Watch: the detectors over a story, for their tests: what is seen goes in, what they say is folded and kept.
#pragma once
#include <string>
#include <vector>

#include "detect/detectors.h"
#include "model/story.h"

namespace muster::detect {

class Watch {
 public:
  explicit Watch(std::uint32_t nodes = 4, Policy policy = default_policy()) : t(nodes, std::move(policy)), detectors(t.s) {}

  // What is to be looked at in the next turn.
  void sample(NodeId n, std::int16_t slot, Field f, double value) { samples.push_back({t.now().utc, n, slot, f, value}); }
  void xid(NodeId n, std::int16_t slot, std::int32_t code) { record(n, slot, KernelKind::xid, code); }
  void record(NodeId n, std::int16_t slot, KernelKind kind, std::int32_t code = 0) {
    kernel.push_back({t.now().utc, n, slot, kind, code, 1, ++records, "text"});
  }
  void step(JobId job, double step_s) { steps.push_back({t.now().utc, job, t.s.jobs.at(job).attempt, 1, step_s}); }
  void event(Body b) { events.push_back(std::move(b)); }
  void everybody_reports() {
    for (std::uint32_t n = 0; n < t.s.nodes.size(); ++n) sample(NodeId{n}, -1, Field::up, 1);
  }

  // One turn, `later` than the last one.
  std::vector<Body> look(Duration later = seconds(1)) {
    const Time mono = t.s.mono() + later;
    std::vector<Body> said = detectors.look(samples, kernel, steps, events, t.s, t.now().utc + later, mono, {}, heard);
    t.pass(later);
    for (const Body& b : events) t.tell(b);
    for (const Body& b : said) t.tell(b);
    samples.clear();
    kernel.clear();
    steps.clear();
    events.clear();
    heard.clear();
    return said;
  }
  // A controller that starts anew on the same state.
  void restart() { detectors = Detectors(t.s); }

  const Finding* open(FindingKind kind) const {
    for (const auto& [id, f] : t.s.findings) {
      if (f.kind == kind && f.cleared.ns == 0) return &f;
    }
    return nullptr;
  }
  std::size_t findings() const { return t.s.findings.size(); }

  Story t;
  Detectors detectors;
  std::vector<Sample> samples;
  std::vector<KernelRecord> kernel;
  std::vector<StepReport> steps;
  std::vector<Body> events;
  std::vector<FabricHeard> heard;
  std::uint64_t records = 0;
};

constexpr NodeId kN0{0}, kN1{1};

}  // namespace muster::detect
