// Forecast: when every queued job will start, and what would make it start sooner. Jobs with a reservation: its time. The rest:
// the queue run forward on a copy of the counts, with expected run times, in rank order; bounded, and said so where the bound cut
// it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "decide/schedule/backfill.h"

namespace muster::decide {

enum class Remedy : std::uint8_t {
  fewer_gpus,   // `value` pieces instead of what it asks for: fits now
  lower_level,  // the required level relaxed to `level`: fits now
  any_model,    // any GPU model: fits now
  shorter,      // a run time of at most `value` seconds: would be started ahead of a reservation now
  nothing,      // no smaller wish would start it now
};

struct Sooner {
  Remedy remedy = Remedy::nothing;
  double value = 0;
  Level level = Level::core;
  std::string words;  // "fits now with 6 nodes instead of 8"
};

struct Forecast {
  JobId id;
  std::uint32_t index = 0;   // into the waiting jobs given
  Time at = kNever;          // expected start; kNever: not within the horizon, or never as the cluster is
  Time late = kNever;        // the same if all that run and wait take long (outlook.h); not before `at`
  bool reserved = false;     // held by a reservation: exact as far as run times are
  bool ever = true;          // false: asks for more than the whole cluster has
  std::vector<JobId> after;  // running jobs it waits for; few
  std::vector<Sooner> sooner;
  std::string words;  // "about 14:05, after job 17 ends; third in the order"
  std::string held;   // why it may not start though there is room (outlook.h); `at` is kNever then
};

struct ForecastPolicy {
  Duration horizon = days(14);
  std::uint32_t jobs_max = 2000;    // looked at in the simulated continuation
  std::uint32_t remedies_max = 64;  // jobs for which remedies are sought: the first in the order
};

// After a pass: one entry for every waiting job that did not start, in rank order. The tree is as after the pass, and as it was
// when this returns.
std::vector<Forecast> forecast(Tree& tree, std::span<const Waiter> waiting, std::span<const Ranked> order,
                               std::span<const Runner> running, const Pass& pass, Time now, const ForecastPolicy& policy = {});

}  // namespace muster::decide
