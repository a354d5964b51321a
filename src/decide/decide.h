// All decisions of one turn, in a fixed order: people's wishes, recovery, broken jobs, the queue.
#pragma once
#include "decide/decision.h"
#include "decide/placer.h"
#include "model/state.h"

namespace muster::decide {

class Decider {
 public:
  Decisions decide(const State& s);
  // When there may be something to decide even if nothing happens, mono.
  static Time next(const State& s) { return s.paused || s.timers.empty() ? kNever : s.timers.begin()->first; }

 private:
  Placer placer_;  // an index over the state: what it answers depends on the state alone
};

}  // namespace muster::decide
