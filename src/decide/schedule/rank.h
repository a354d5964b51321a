// Rank: the order in which queued jobs are looked at. One explainable order, from what is passed in alone.
//
// Bands, first to last; within a band the lowest score, then arrival, then id:
//   returning  stopped by the scheduler to let others through, and its pause is over
//   overdue    waited longer than `wait_limit`; oldest first, whatever its priority: the starvation bound
//   urgent     a deadline is near: slack below `slack_urgent`, or below half of the expected run; least slack first
//   open       by priority, then by score = expected GPU-time x fairness, less for worth
//   late       its deadline cannot be met any more and no one gave it a value; after the open ones of its priority
//   paused     stopped to let others through, and its pause lasts still
//
// Starvation bound. Let the first job in the order be overdue or returning. It holds a reservation (backfill.h) that no start may
// delay, and only returning and older overdue jobs come before it; new arrivals never do. So, when no job runs longer than
// expected, a job starts at the latest `wait_limit` + (jobs that were overdue or returning before it + 1) x (longest run time of
// a job) after it was queued; a job that can run beside those before it does not wait for them. rank_test holds this as a
// property.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "decide/place/shape.h"

namespace muster::decide {

// A queued job as the queue engine sees it. Filled by the caller.
struct Waiter {
  JobId id;
  Shape shape;
  std::uint32_t gpus = 0;        // in all; whole nodes counted as what they have
  std::uint64_t order = 0;       // arrival; kept over restarts
  std::int32_t priority = 0;     // higher first
  double fairness = 1;           // use over fair share of its queue: 0.5 has had half of what it is due, 2 twice
  double value = 0;              // worth per GPU-hour, in the site's money; 0: not said
  Time queued;                   // since when it waits: submission, or when it was stopped
  Duration waited_before;        // in earlier waits of this job
  Time deadline = kNever;        // to have ended by
  Duration expected;             // remaining run time (estimate.h)
  Duration ran;                  // kept progress of earlier attempts; for a paused job more than 0
  Time paused_until{INT64_MIN};  // stopped by the scheduler: not wanted back before this; INT64_MIN: not paused
};

struct RankPolicy {
  Duration wait_limit = hours(8);
  Duration slack_urgent = minutes(30);
  double gpus_weight = 0.5;    // 0: shortest first; 1: least GPU-time first; between: expected x GPUs to this power
  double fairness_weight = 1;  // score x fairness to this power; 0: fairness plays no part
  double value_scale = 0;      // value per GPU-hour that halves the score; 0: value plays no part
  // The longer it has waited, the smaller its score: halved for each of these. 0: waiting counts only at the limit.
  Duration wait_halving{};
};

enum class Band : std::uint8_t { returning, overdue, urgent, open, late, paused };
constexpr std::string_view name(Band b) {
  constexpr std::string_view names[] = {"returning", "overdue", "urgent", "open", "late", "paused"};
  return names[static_cast<std::size_t>(b)];
}

struct Ranked {
  std::uint32_t index = 0;  // into the span given
  Band band = Band::open;
  double score = 0;  // lower is earlier
};

Band band_of(const Waiter& w, Time now, const RankPolicy& policy);
double score_of(const Waiter& w, Time now, const RankPolicy& policy);
// All of them, first to last.
std::vector<Ranked> rank(std::span<const Waiter> waiting, Time now, const RankPolicy& policy);
// Why it stands where it stands: "overdue: has waited 9h 10m, the limit is 8h".
std::string why(const Waiter& w, Time now, const RankPolicy& policy);

}  // namespace muster::decide
