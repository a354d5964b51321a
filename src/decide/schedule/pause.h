// Pause: long-running gangs that have just made a checkpoint step aside for jobs that would end long before them. The wait that a
// full cluster causes is then shared by jobs that hardly notice it (one hour in three days) instead of falling on those
// that do (six hours for ten minutes of work). Rules that keep it harmless:
//   - only gangs with checkpoints, that have run for `ran_min`, and whose last checkpoint is at most `lost_max` ago;
//   - for a job at most 1/`ratio` as long as what the gang has run already, and that has waited for `wait_min`;
//   - a gang is paused for `length`, then it is first in the order (Band::returning); in all at most `paused_part` of its run
//     and `paused_max`.
#pragma once
#include <span>
#include <vector>

#include "decide/schedule/backfill.h"

namespace muster::decide {

struct PausePolicy {
  bool on = true;
  Duration wait_min = minutes(15);
  Duration ran_min = hours(2);
  Duration lost_max = minutes(5);
  Duration length = hours(1);
  double ratio = 1;
  double paused_part = 1;
  Duration paused_max = hours(2);
};

// A running job that may be paused.
struct Pausable {
  JobId id;
  std::int32_t priority = 0;
  Duration ran;            // useful run time so far, earlier attempts included
  Duration ran_since;      // of this attempt: who has just come back is left alone for `ran_min`
  Duration lost;           // work since its last checkpoint, which a stop would lose
  Duration paused_before;  // in earlier pauses
  std::uint32_t gpus = 0;
  const Choice* where = nullptr;
  std::uint32_t milli = 1000;
};

struct Pause {
  JobId id;       // steps aside
  JobId for_job;  // whose start it lets happen
  Duration lost;
};

struct Pauses {
  std::vector<Pause> pauses;
  std::vector<Start> starts;  // possible once these have stopped
};

// After a pass: for the jobs that did not start, in rank order. The tree is left with the pauses given and the starts taken.
Pauses choose_pauses(Tree& tree, std::span<const Waiter> waiting, std::span<const Ranked> order,
                     std::span<const Pausable> running, Time now, const PausePolicy& policy);

}  // namespace muster::decide
