// Defragmentation: running gangs moved together so that a waiting one can start. Only gangs that have just made a checkpoint are
// moved, and only when the GPU-hours gained exceed those that the moves cost, by a margin. Each plan names whom it serves.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "decide/moves/gang.h"

namespace muster::decide {

struct Waiting {
  JobId id;
  Shape shape;
  std::uint64_t milli_gpus = 0;
  double wait_s = 0;  // until it would start without any move, by the forecast
  double run_s = 0;   // expected
};

struct DefragRules {
  std::uint32_t moves_max = 3;
  double margin = 0.5;            // gain must exceed cost by this part of it
  double horizon_s = 4 * 3600;    // forecasts beyond this count as this
  double slowdown_per_leaf = 0;   // part of a gang's speed that each leaf beyond the first costs
  double fresh_s = 60;            // a checkpoint moment: no more than this since durable progress
  std::uint32_t waiting_max = 8;  // of the waiting, in their order, looked at
  std::uint32_t tries = 2000;     // placements tried at most
};

struct Move {
  JobId id;
  Choice to;
  std::uint32_t leaves_before = 0;
  double cost_gpu_h = 0;  // restart, and work since the checkpoint
};

struct Defrag {
  JobId beneficiary;
  Choice start;             // where it will start
  std::vector<Move> moves;  // in id order; all stop before any starts again
  double gain_gpu_h = 0;    // GPU-hours of the beneficiary's work done earlier, and of steps made faster by fewer leaves
  double cost_gpu_h = 0;    // of the moves, and of steps made slower
  std::string why;
};

// The plan with the greatest net gain, or none. `running`: all gangs that could move; those not at a checkpoint are left out. The
// tree is as before when this returns.
std::optional<Defrag> plan_defrag(Tree& tree, const Layout& layout, std::span<const Gang> running,
                                  std::span<const Waiting> waiting, const DefragRules& rules = {});
// Carries a plan out on a tree: for trials and tests.
void apply(Tree& tree, std::span<const Gang> running, const Defrag& plan, const Shape& beneficiary);

}  // namespace muster::decide
