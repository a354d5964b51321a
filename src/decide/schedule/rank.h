// Rank: the order in which queued jobs are looked at. One explainable order, from what is passed in alone.
//
// Before everybody stand those whose turn is promised: who stepped aside and whose pause is over, for whom others were stopped,
// and who has been overdue for twice `wait_limit`; by when that happened. Then who asks for no more than its queue's guarantee:
// it gets that in any case, and had better get it before others have to be stopped for it. Then priority, and among those of one
// priority, bands:
//   overdue    has waited longer than `wait_limit` (gangs: a part of it); by when that happened, earliest first
//   urgent     a deadline is near: slack below `slack_urgent`; least slack first
//   open       by score = expected run x GPUs^gpus_weight x fairness, less for worth; lowest first
//   late       its deadline cannot be met any more and no one gave it a value
// Last, paused: stepped aside for others, and its pause lasts still: comes back early only into room that nobody wants. Ties:
// arrival, then id.
//
// Starvation bound. Ahead of a job whose turn is promised stand only those whose turn was promised before; who comes later never
// overtakes. The first in the order holds a reservation that no start may delay (backfill.h). So, when no job runs longer than
// expected, and the cluster, empty, would hold it, a job starts at the latest
//     L + (B + 1) x R
// after it was queued, with L the `wait_limit` where all have one priority and three times that otherwise, B the jobs whose turn
// was due when its own became due, and R the longest run expected of any job: the first of them starts within R, for by then all
// that ran when it became first has ended; then the next is first. A property in backfill_test.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "decide/place/shape.h"

namespace muster::decide {

// A queued job as the queue engine sees it. Filled by the caller.
struct Waiter {
  JobId id;
  Shape shape;
  bool promised = false;         // others were stopped for it: what they leave is its own
  bool compact = false;          // would rather have the fewest leaves that an empty cluster needs: who fits so goes first
  std::optional<Shape> or_else;  // what will do when that does not fit: a job that prefers one node, and need not have it
  std::uint32_t gpus = 0;        // in all; whole nodes counted as what they have
  std::uint64_t order = 0;       // arrival; kept over restarts
  std::int32_t priority = 0;     // higher first
  bool entitled = false;         // within the guarantee of its queue
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
  bool in_order = false;  // the open stand in the order they came, whatever their score
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
