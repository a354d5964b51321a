// Preemption: whom to stop so that a waiting gang can start at once. Placement-exact: a plan is one only if, with its victims
// gone, the tree places the gang, and the plan carries that placement; so GPUs freed in the wrong places are no plan.
//
// Who may be stopped: gangs of lower priority (in the same queue, or in one that uses more than its guarantee), and, when the
// asker is within its guarantee, borrowed gangs of any priority (Quotas::must_give). Never one that has run for less than the
// protected time. Of all sets that serve, the one with the least loss (GPU-time since the last checkpoint, and of the restart),
// then the fewest gangs, then the lowest priorities, then the lowest ids.
#pragma once
#include <span>
#include <string>

#include "decide/moves/gang.h"

namespace muster::decide {

struct PreemptAsk {
  JobId id;
  QueueIndex queue = kRootQueue;
  std::int32_t priority = 0;
  Shape shape;    // shape.required is the level that the freed GPUs must share
  Amounts use{};  // what it will count for in its queue
};

struct PreemptRules {
  double protected_s = 600;      // a gang that has run for less is left alone
  std::uint32_t exact_max = 20;  // candidates in a group up to which every set is looked at (bounded by `tries`)
  std::uint32_t tries = 20000;   // placements tried at most: bounds the time of one search
};

struct Preemption {
  bool found = false;
  std::vector<JobId> victims;  // in id order; none if the gang fits as it is
  Choice choice;               // where the gang will start
  std::int64_t loss_gpu_ms = 0;
  bool exact = false;  // proven least loss; else the best of a bounded search
  std::string why;     // in words, also when nothing was found
};

// `running` holds all gangs that may hold GPUs in the tree; others in the tree are never touched. The tree is as before when this
// returns. quotas: null when there are none to keep.
Preemption choose_victims(Tree& tree, const Layout& layout, std::span<const Gang> running, const PreemptAsk& ask,
                          const PreemptRules& rules = {}, const Quotas* quotas = nullptr);

}  // namespace muster::decide
