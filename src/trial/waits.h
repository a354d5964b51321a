// Waits: how long jobs wait in the queue in a history, those still waiting at its end included, so that a cluster that starts
// fewer does not look quicker.
#pragma once
#include <cstdint>
#include <map>

#include "model/state.h"

namespace muster::trial {

struct Waited {
  std::uint64_t jobs = 0;  // that waited or started in it; who waits for another job to end is not among them
  double mean_s = 0;       // since the history began
};

class Waits {
 public:
  // What a fork begins with: what jobs waited before does not count.
  void begin(const State& s);
  void on_event(const Event& e, const State& s);
  Waited at_end(const State& s, Time mono) const;

 private:
  std::map<JobId, Duration> before_;
  std::map<JobId, Duration> waited_;  // of those that started, in all
};

}  // namespace muster::trial
