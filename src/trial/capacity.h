// How many nodes more keep the waits that were promised: whole weeks of a site's own job records, drawn again and again, replayed
// through the scheduler's code on clusters of growing size. Whole weeks keep who asks for what, how large, how long and when.
//
// What is assumed besides what trace_replay.h says:
//   - every draw begins with the last weeks of the record as they were, so that the cluster is as busy as it is now;
//   - demand grows by taking hours of further weeks whole, and shrinks by leaving hours out whole: jobs that come together stay
//     together, which is what queues are made of;
//   - a month is given up once more jobs wait at one time than a quarter of a week brings: what has not begun by then is late.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/wait_target.h"
#include "trial/trace_replay.h"

namespace muster::trial {

constexpr double kGiveUpShare = 0.25;
constexpr std::uint32_t kGiveUpMin = 200;
constexpr std::uint32_t kWarmWeeks = 2;  // replayed before those that are measured

using muster::WaitTarget;
std::vector<WaitTarget> usual_targets();  // 1 h up to 8 GPUs, 4 h up to 64, 12 h beyond: nine in ten

// Whole weeks from Monday, UTC. Weeks at the ends with less than a quarter of the middle week's jobs or GPU-hours are a record
// that begins or runs dry: they are left out.
struct TraceWeeks {
  Time first;                               // when the first begins
  std::vector<std::vector<TraceJob>> jobs;  // of each week
  std::uint32_t left_out = 0;               // at the ends
};
TraceWeeks whole_weeks(std::span<const TraceJob> trace);
// Which of the targets is for jobs of this size; as many as there are: none, they are beyond the last.
std::size_t class_of(std::span<const WaitTarget> targets, std::uint32_t gpus);
double gpu_hours(std::span<const TraceJob> jobs);

struct CapacitySpec {
  ReplaySpec replay;  // its `gpus` and `site` are of the cluster as it is
  std::uint32_t gpus_per_node = kReplayNodeGpus;
  std::vector<WaitTarget> targets = usual_targets();
  std::uint32_t draws = 40;
  std::uint32_t weeks = 4;  // measured in each
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::function<void(double)> told;
};

// What a class of jobs got in the measured weeks of one draw.
struct ClassMonth {
  std::uint64_t jobs = 0;
  std::uint64_t in_time = 0;
  std::uint32_t weeks = 0;      // with a job of the class
  std::uint32_t weeks_met = 0;  // its target
};
struct Month {
  std::vector<ClassMonth> classes;  // as the targets
  std::uint32_t weeks = 0;
  std::uint32_t weeks_met = 0;  // all targets
  double offered = 0;           // GPU-hours asked for over those there were
  bool given_up = false;
};

// A probability with the interval (90 %, Wilson's, each draw one observation) that it is in. None where no draw had such a job.
struct Chance {
  double p = 0, low = 0, high = 0;
};
struct ClassChance {
  std::optional<Chance> week;  // that a week's target is met
  // Share of its jobs in time: over all draws, and of the draws the fifth and the ninety-fifth in a hundred.
  std::optional<double> in_time, in_time_p5, in_time_p95;
};
struct CapacityPoint {
  std::uint32_t nodes_added = 0;
  double growth = 1;
  std::vector<ClassChance> classes;
  Chance all;                  // that a week meets every target
  double offered = 0;          // mean over the draws
  std::uint32_t given_up = 0;  // draws
  std::uint64_t jobs = 0;      // measured, over all draws
};

// The months of all draws at this growth of demand and size; the same draws for every size.
std::vector<Month> draw_months(const TraceWeeks& weeks, const CapacitySpec& spec, std::span<const double> growths,
                               std::uint32_t nodes_added);
CapacityPoint chances(std::span<const Month> months, std::size_t classes);

// Sizes until every target is met with `wanted` probability: doubled, then halved between the last two. The smallest is last in
// `found`; none: not with `nodes_max` more.
struct CapacityCurve {
  double growth = 1;
  std::vector<CapacityPoint> points;  // by nodes added
  std::optional<std::uint32_t> least;
};
// The growth that is not known: the level moves as it did between neighbouring spans of weeks before, or the other way.
constexpr double kDrift = 0;

CapacityCurve find_capacity(const TraceWeeks& weeks, const CapacitySpec& spec, double growth, double wanted,
                            std::uint32_t nodes_max, std::span<const std::uint32_t> always);

// The last weeks of the record held out: what was predicted of them from those before, and what their own submissions got in the
// same replay.
struct HeldOut {
  Month came;
  CapacityPoint same_demand;    // draws scaled to what the held-out weeks asked for: the replay alone
  CapacityPoint no_growth;      // as much as before: what could be said then
  CapacityPoint level_unknown;  // the level moves as it did between spans of weeks before, either way
  double growth_came = 1;       // of the held-out weeks over the mean of those before
};
// `all`: false for same_demand alone. None: fewer weeks than twice those it measures and two.
std::optional<HeldOut> hold_out(const TraceWeeks& weeks, const CapacitySpec& spec, bool all = true);

}  // namespace muster::trial
