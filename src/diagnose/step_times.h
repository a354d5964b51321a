// What the times of a run's steps say by themselves: how far they spread, which are slow and how often, when the run became
// slower, and what passed between steps.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/step_log.h"

namespace muster::diagnose {

struct Spread {
  std::size_t samples = 0;
  double median_s = 0, p10_s = 0, p90_s = 0, mean_s = 0;
};

// Every so many steps one is slow.
struct Periodic {
  std::uint64_t every = 0;
  double extra_s = 0;    // the median of what they take beyond the others
  double share_pct = 0;  // of all the time of steps
  std::optional<MarkKind> what;
};

// From a step on, all are slower (or faster) than before.
struct Shift {
  std::uint64_t step = 0;
  std::uint32_t line = 0;
  double before_s = 0, after_s = 0;
};

// Steps in a row that are slow.
struct Episode {
  std::uint64_t first = 0, last = 0;
  double slower_pct = 0;
};

struct Restart {
  std::uint64_t reached = 0, resumed = 0;  // the last step before, and the first after
  double gap_s = 0;                        // between their lines; 0: they have no times
  std::uint32_t line = 0;
};

struct StepTimes {
  Spread spread;
  std::uint64_t first = 0, last = 0;
  std::size_t warm_up = 0;  // slow steps at the beginning, which do not count
  std::size_t outliers = 0;
  double outliers_pct = 0;  // of all the time, what outliers take beyond the others
  std::optional<Periodic> periodic;
  std::optional<Shift> shift;
  std::optional<Shift> growth;       // little by little, instead: `before` at the beginning, `after` at the end
  std::vector<Episode> episodes;     // at most 16
  std::vector<Restart> restarts;     // at most 64
  std::uint64_t computed_again = 0;  // steps, after restarts
  double outside_pct = 0;            // of the wall's time between lines, what is in no step
  std::uint64_t skipped = 0, nan = 0;
};

StepTimes study_steps(const StepLog& log);

// Of values in any order; 0 where there are none.
double quantile(std::vector<double> values, double share);

}  // namespace muster::diagnose
