// How often to write a checkpoint. Failures come as a Poisson process; what was done since the last durable checkpoint is lost
// with each, and a recovery that is itself interrupted begins anew.
#pragma once

namespace muster::predict {

struct CheckpointAsk {
  double failures_per_s = 0;  // of the whole run
  double stall_s = 0;         // steps stop for so long at each checkpoint
  double recover_s = 0;       // from a failure to the first new step
  double write_s = 0;         // from the end of the stall until it is durable, while steps go on
};

// Share of the time that is useful, 0 to 1, when steps run for `interval_s` between two checkpoints. Exact, not a series:
// a life without failure of length X saves interval_s for every checkpoint that was durable by then, which is
// interval_s * e^(-r write_s) / (e^(r (interval_s + stall_s)) - 1) on average, and a life with the recovery before it lasts
// e^(r recover_s) / r (Daly 2006, equation 20, with the write beside the steps).
double useful_share(const CheckpointAsk& ask, double interval_s);

struct CheckpointAdvice {
  double interval_s = 0;  // of steps between two checkpoints; 0: a checkpoint costs nothing; infinite: nothing ever fails
  double useful = 1;      // share of the time, with that interval
};

// The interval for which useful_share is largest. Young's sqrt(2 stall / rate) is its first term.
CheckpointAdvice young_daly(const CheckpointAsk& ask);

}  // namespace muster::predict
