// The shortest time in which a fleet could be upgraded without stopping a job: what a planner needs who knows when every job
// ends.
#pragma once
#include <vector>

#include "base/time.h"

namespace muster::trial {

struct DrainBound {
  std::vector<Duration> free;      // by node, from the beginning: when the last job ends that ran on it then; 0: idle
  std::vector<std::size_t> first;  // nodes that may be canaries; empty: any
  std::size_t canaries = 0;        // of those, that many have their turn and are watched before anybody else begins
  Duration watch;                  // so long
  std::size_t at_once = 1;         // nodes that may be away at one time
  Duration turn;                   // a node is away for, at least
};

// Until the last node is back. First come, first served is the best there is where all turns take as long; and no plan that stops
// no job and keeps the budget is shorter.
Duration drain_bound(DrainBound b);

}  // namespace muster::trial
