// How often a job should write its checkpoints, from what was measured: how long one stops its steps, and how often gangs here
// are interrupted. Numbers in, numbers out.
#pragma once
#include <cstdint>
#include <optional>

#include "model/state.h"

namespace muster::decide {

// Interruptions of a gang for each of its nodes and hour. Of the jobs that are known here, drawn towards the published rate while
// they have seen few: four interruptions of its own weigh as much as all that others have published.
struct FailureRate {
  double per_node_h = 0;
  std::uint64_t seen = 0;  // interruptions of known jobs that were not the program's own doing
  double node_h = 0;       // that those jobs ran
};
FailureRate failure_rate(const State& s);
// Llama 3 405B: 419 interruptions in 54 days on 2,048 nodes (arXiv 2407.21783, table 5).
constexpr double kPublishedPerNodeH = 419 / (54 * 24.0 * 2048);
constexpr double kPublishedWeight = 4;

struct CheckpointView {
  double stall_s = 0;          // steps stop for so long at each checkpoint
  std::uint32_t measured = 0;  // checkpoints of this attempt it is the mean of; 0: by its owner's word
  double failures_per_h = 0;   // of the whole gang
  double recover_s = 0;        // from a failure to the first new step
  double every_s = 0;          // of steps between two checkpoints now; 0: nobody knows
  double advised_s = 0;        // likewise, for which the useful share is largest
  double useful = 0;           // share of the time, 0 to 1, as it is now; 0: nobody knows
  double useful_advised = 0;
  double gpu_h_a_day = 0;  // that the advice would win
};

// Nothing: the job does not run, never told of a checkpoint, and its owner did not say how long one takes.
std::optional<CheckpointView> checkpoint_view(const State& s, const Job& j, const FailureRate& rate);

}  // namespace muster::decide
