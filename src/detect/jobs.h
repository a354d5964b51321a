// What the engine's job events say: gangs that failed, and a checkpoint store that stalls for everybody.
#pragma once
#include <deque>
#include <map>

#include "detect/sign.h"

namespace muster::detect {

class Jobs {
 public:
  void take_over(const Finding& f) { stalled_ = stalled_ || f.kind == FindingKind::storage_stall; }
  // To be called with each job event before it is folded into `s`.
  void on_event(const Body& b, const State& s, Time utc, Time mono, Signs& out);

 private:
  void on_checkpoint(const JobProgressed& b, const State& s, Time utc, Time mono, Signs& out);

  struct Usual {
    double ms = 0;  // mean time of this job's checkpoints so far
    std::uint32_t count = 0;
  };
  std::map<JobId, Usual> usual_;
  std::deque<std::pair<Time, JobId>> crawled_;  // recent checkpoints that took far too long
  bool stalled_ = false;
};

}  // namespace muster::detect
