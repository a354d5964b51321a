// Choose: when a job that stands on a failing node is to be moved: at once, at its next checkpoint, or not at all. By useful
// GPU-hours expected to be lost; numbers in, numbers out.
#pragma once
#include <cstdint>
#include <vector>

#include "model/action.h"
#include "model/state.h"

namespace muster::decide {

// All times in seconds.
struct Stakes {
  double gpus = 0;   // of the gang: all of them wait for one
  double age_s = 0;  // of its last checkpoint: what is done since then is lost when it stops
  bool age_known = true;
  double next_checkpoint_s = -1;  // from now; below 0: there will be none, or nobody knows
  double interval_s = 0;          // of checkpoints; 0: none
  double remaining_s = 0;         // of work, at full speed
  double restart_s = 0;           // from the stop to the first new step, with nodes at hand
  double slow = 0;                // share of its speed that the fault costs, 0 to 1; 1: it hangs
  double fails_per_h = 0;         // how likely the fault is to end the job by itself
  bool spare = false;             // nodes to go on with are free
  double smaller = 0;             // else: part of its pieces that could go on at once, in (0, 1); 0: it needs all of them
  double nodes_back_s = 0;        // and: until there will be nodes for all of it
  double timeout_s = 0;           // hangs: until its own time-out ends it
  bool may_stop = true;           // its owner lets it be requeued
};

enum class When : std::uint8_t { now, at_checkpoint, at_end };

struct Weighed {
  When when = When::at_end;
  bool smaller = false;         // stopped now, it is to go on with fewer nodes at once
  std::vector<Option> options;  // the chosen one first
};

Weighed weigh(const Stakes& k);
// The same for a gang that has broken already: a spare, fewer nodes, or the queue. `elsewhere`: the queue could start all of it
// at once on other nodes.
Weighed weigh_broken(const Stakes& k, bool elsewhere);
// Whether a gang that runs smaller is to be restarted in full, with the nodes at hand.
Weighed weigh_growth(const Stakes& k);
// What is known about a job's stakes in an incident.
Stakes stakes_of(const State& s, const Incident& i, const Job& j, const Runbook& book, bool spare);
// The same for one that has broken or runs smaller, with so much time until its nodes are back.
Stakes stakes_of(const State& s, const Job& j, double nodes_back_s);
// Expected time of a step of a runbook with the test after it, in seconds.
double repair_s(Verb step);

}  // namespace muster::decide
