// Detectors: all of them together, and the merging of their signs into findings.
#pragma once
#include <deque>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "detect/counters.h"
#include "detect/heat_row.h"
#include "detect/jobs.h"
#include "detect/links.h"
#include "detect/silence.h"
#include "detect/slow.h"
#include "model/event.h"

namespace muster::detect {

class Detectors {
 public:
  // `s` must have its site. Open findings of a state that was restored are taken over.
  explicit Detectors(const State& s);

  // Everything that came in with one turn, at utc/mono. `events` are the engine's, not yet folded into `s`. Returns
  // FindingOpened, FindingGrew and FindingCleared bodies in a fixed order.
  std::vector<Body> look(std::span<const Sample> samples, std::span<const KernelRecord> kernel, std::span<const StepReport> steps,
                         std::span<const Body> events, const State& s, Time utc, Time mono);
  // When a detector has to look again even if nothing comes in, mono.
  Time next(const State& s) const;

 private:
  using Key = std::tuple<FindingKind, NodeId, std::int16_t, JobId>;
  struct Open {
    FindingId id;
    std::uint32_t witnesses = 0;  // bit set
    std::uint32_t signs = 0;
  };
  void merge(const Sign& sign, const State& s, Time utc, Time mono, std::uint64_t& next_id, std::vector<Body>& out);

  Counters counters_;
  HeatRow heat_;
  Silence silence_;
  Links links_;
  Slow slow_;
  Jobs jobs_;
  Signs signs_;
  std::deque<std::pair<Time, Key>> passing_;  // findings that nothing ever clears, with the mono time when they are over
  std::map<Key, Open> open_;
};

}  // namespace muster::detect
