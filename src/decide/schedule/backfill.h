// Backfill: one pass over the ranked queue. Jobs that fit start; the first `reserve` that do not get a reservation (a time, and
// the very GPUs); any later job starts only if it delays none of these: it is expected to end before a reservation, or it takes
// none of the reserved GPUs. Reservations are found by giving back running jobs on the tree, in the order of their expected ends,
// until the gang fits; so they hold for topology, not only for counts. With reserve = 1 this is EASY; with more, conservative for
// the top and EASY below.
//
// Waiters that would rather be compact are looked at twice. First each starts only where it uses the fewest leaves that an empty
// cluster would need: holes go to gangs that fill them well. What is free after that is given away in the same order, to those
// who need few more leaves than that. Only a short run (`pass_max`) passes one who could have started spread out; one who fits
// nowhere has its reservation at once, like everybody. Whoever has waited long enough is not `compact` any more, takes what there
// is and is never passed over; nor is anybody by those of lower priority.
//
// Work in a pass is bounded: `tries_max` placements, `reserve` walks over the running jobs, and one refusal per distinct shape:
// what did not fit is not tried again until something is given back.
#pragma once
#include <span>
#include <vector>

#include "decide/place/tree.h"
#include "decide/schedule/rank.h"

namespace muster::decide {

// A running job: what it holds in the tree, and when it is expected to give it back.
struct Runner {
  JobId id;
  Time expected_end;              // estimate.h; never before now
  const Choice* where = nullptr;  // outlives the pass
  std::uint32_t milli = 1000;
};

struct BackfillPolicy {
  std::uint32_t reserve = 4;        // jobs with reservations: conservative for so many, EASY below
  std::uint32_t depth = 2000;       // queued jobs looked at
  std::uint32_t tries_max = 4000;   // placements tried
  Duration pass_max = minutes(30);  // who runs longer does not pass one that waits for a compact place
  // Reservations are wanted even where nothing could start: for the forecast. Without it a pass that can start nothing is short.
  bool always_reserve = true;
};

struct Start {
  JobId id;
  std::uint32_t index = 0;  // into the waiting jobs given
  Choice choice;
  bool backfilled = false;  // ahead of a job that holds a reservation
  // Free GPUs that it was kept off because reservations need them before it ends: its certificate speaks of the others.
  std::vector<std::pair<NodeId, std::uint16_t>> apart;
};

struct Reservation {
  JobId id;
  std::uint32_t index = 0;
  Time at = kNever;          // expected start; kNever: fits only when nodes come back that are closed now
  Choice choice;             // the very GPUs
  std::vector<JobId> after;  // running jobs whose GPUs it waits for, in id order
};

struct Pass {
  std::vector<Start> starts;              // in the order to start them
  std::vector<Reservation> reservations;  // in rank order
  std::uint32_t tries = 0;                // placements tried
  bool cut = false;                       // a bound was met: jobs below were not looked at
};

// `order`: rank() of `waiting`; `running` in the order of (expected_end, id). The tree is left
// as it would be with the starts taken: the caller keeps it so when it carries them out, or goes back to a mark of its own.
Pass backfill(Tree& tree, std::span<const Waiter> waiting, std::span<const Ranked> order, std::span<const Runner> running,
              Time now, const BackfillPolicy& policy = {});

}  // namespace muster::decide
