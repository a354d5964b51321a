#include "predict/checkpoint.h"

#include <algorithm>
#include <limits>

#include "base/math.h"

namespace muster::predict {
namespace {

// e^x - 1, without the cancellation near 0.
double exp_less_one(double x) {
  if (x > 0.01 || x < -0.01) return det_exp(x) - 1;
  return x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6)))));
}

}  // namespace

double useful_share(const CheckpointAsk& ask, double interval_s) {
  const double rate = std::max(ask.failures_per_s, 0.0);
  const double stall_s = std::max(ask.stall_s, 0.0);
  const double cycle_s = interval_s + stall_s;
  if (!(cycle_s > 0)) return det_exp(-rate * (ask.recover_s + ask.write_s));
  if (rate == 0) return interval_s / cycle_s;
  return rate * interval_s * det_exp(-rate * (ask.recover_s + ask.write_s)) / exp_less_one(rate * cycle_s);
}

CheckpointAdvice young_daly(const CheckpointAsk& ask) {
  const double rate = std::max(ask.failures_per_s, 0.0);
  const double stall_s = std::max(ask.stall_s, 0.0);
  if (rate == 0) return {std::numeric_limits<double>::infinity(), 1};
  if (stall_s == 0) return {0, useful_share(ask, 0)};
  // The derivative of useful_share is 0 where x = 1 - e^-(x + rate stall), x = rate interval. Newton's method from x = 1, above
  // the only root of a convex function that rises there: each step is down and never beyond the root.
  double x = 1;
  for (int i = 0; i < 200; ++i) {
    const double miss = x + exp_less_one(-(x + rate * stall_s));
    const double next = x + miss / exp_less_one(-(x + rate * stall_s));
    if (!(next < x) || !(next > 0)) break;
    x = next;
  }
  return {x / rate, useful_share(ask, x / rate)};
}

}  // namespace muster::predict
