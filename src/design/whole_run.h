// A training run from its first token to its last: interruptions, checkpoints, GPU-hours and energy.
#pragma once
#include <cstdint>

namespace muster::design {

struct WholeRunAsk {
  double step_s = 0;
  double tokens_a_step = 0;
  double tokens = 0;  // of the whole run
  std::uint32_t gpus = 0;
  double gpu_w = 0;         // its limit
  double params = 0;        // of the model
  double storage_gb_s = 0;  // that checkpoints are written at; 0: not told, they are taken as durable at once
};

struct WholeRun {
  double s = 0;              // with interruptions
  double useful = 1;         // share of that
  double interruptions = 0;  // expected
  double checkpoint_s = 0;   // between two checkpoints
  double gpu_hours = 0;
  double mwh = 0;  // servers at their limit, with what cools and feeds them
};

constexpr double kCheckpointBytes = 14;  // a parameter: weights and the optimizer's state
constexpr double kPue = 1.25;
constexpr double kServerOverGpu = 1.82;  // power of a server over that of its GPUs, at their limit: 10.2 kW of eight H100

WholeRun whole_run(const WholeRunAsk& ask);

}  // namespace muster::design
