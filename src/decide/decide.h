// All decisions of one turn, in a fixed order: people's wishes, recovery, broken jobs, the queue.
#pragma once
#include "decide/cluster_view.h"
#include "decide/decision.h"
#include "model/state.h"

namespace muster::decide {

class Decider {
 public:
  Decisions decide(const State& s);
  // When there may be something to decide even if nothing happens, mono.
  static Time next(const State& s);

 private:
  ClusterView view_;  // an index over the state: what it answers depends on the state alone
};

}  // namespace muster::decide
