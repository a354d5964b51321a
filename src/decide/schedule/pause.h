// Pause: long-running jobs that have just made a checkpoint step aside for jobs that would end long before them. The wait that a
// full cluster causes is then borne by jobs that hardly notice it (two hours in three days) instead of by those that do (six
// hours for ten minutes of work). What keeps it harmless:
//   - only jobs with checkpoints that have run for `ran_min`, and long enough that the waiting one is no longer than `1/ratio` of
//     that (who is overdue may be longer); never one of higher priority;
//   - only when little is lost: work since its last checkpoint at most `lost_max` + `lost_part` of the time the other has waited;
//   - only for one that has waited: its expected run squared over `wait_unit`, at most `wait_max` (10 min of work: 100 s);
//   - a pause ends after its length: then the job is first in the order (Band::returning) and may itself ask others to step
//     aside. All pauses of a job together, and for gangs its first wait too, stay within a bound by size: single-GPU jobs, which
//     fit anywhere and are many, long; jobs that fill one node, 2 h; all others, which are hard to bring back or free little,
//     1 h.
#pragma once
#include <span>
#include <vector>

#include "decide/schedule/backfill.h"

namespace muster::decide {

struct PausePolicy {
  Duration wait_unit = hours(1);
  Duration wait_max = minutes(45);
  Duration ran_min = hours(4);
  Duration lost_max = minutes(5);
  double lost_part = 0.25;
  double ratio = 1;
  std::uint32_t node_gpus = 8;
  Duration single_max = minutes(450);
  Duration node_max = hours(2);
  Duration other_max = hours(1);
  Duration length_min = minutes(40);  // a shorter pause is not worth the restart
  std::uint32_t tries_max = 400;      // placements tried
};

// A running job that may be paused.
struct Pausable {
  JobId id;
  std::int32_t priority = 0;
  Duration ran;            // useful run time so far, earlier attempts included
  Duration ran_since;      // of this attempt: who has just come back is left alone for `ran_min`
  Duration lost;           // work since its last checkpoint, which a stop would lose
  Duration paused_before;  // in earlier pauses
  Duration waited;         // before its first start
  std::uint32_t gpus = 0;
  const Choice* where = nullptr;
  std::uint32_t milli = 1000;
};

struct Pause {
  JobId id;                 // steps aside
  std::uint32_t index = 0;  // into the running jobs given
  JobId for_job;            // whose start it lets happen
  Duration lost;
  Duration length;  // wanted back after this
};

struct Pauses {
  std::vector<Pause> pauses;
  std::vector<Start> starts;  // possible once these have stopped
};

// After a pass: for the jobs that did not start, `order` is theirs alone. Free GPUs among the `reserved` are left alone. The tree
// is left with the pauses given and the starts taken.
Pauses choose_pauses(Tree& tree, std::span<const Waiter> waiting, std::span<const Ranked> order,
                     std::span<const Pausable> running, Time now, const PausePolicy& policy,
                     std::span<const Reservation> reserved = {});

}  // namespace muster::decide
