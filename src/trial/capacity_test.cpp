#include "trial/capacity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/prng.h"

namespace muster::trial {
namespace {

const Time kStart = Time{} + days(4 + 7 * 2600);  // a Monday

TraceJob job(double submit_h, double run_h, std::uint32_t gpus) {
  return {kStart + from_seconds(3600 * submit_h), from_seconds(3600 * run_h), gpus, ""};
}

// A cluster's work of so many weeks: jobs by the hour with days and nights, one in eight larger than a node.
std::vector<TraceJob> work(std::uint64_t seed, std::size_t weeks, double jobs_per_h) {
  Prng r(seed, "a cluster's work");
  std::vector<TraceJob> out;
  const double end = static_cast<double>(weeks) * 168;
  for (double h = 0.01; h < end; h += r.exponential(1 / (jobs_per_h * (std::fmod(h, 24) < 12 ? 1.5 : 0.5)))) {
    const std::uint32_t gpus[] = {1, 1, 1, 1, 2, 4, 8, 16};
    out.push_back(job(h, std::min(r.lognormal(0, 1.2), 60.0), gpus[r.below(8)]));
  }
  return out;
}

CapacitySpec small(std::uint32_t gpus, std::uint32_t draws = 8) {
  CapacitySpec s;
  s.replay.gpus = gpus;
  s.replay.pauses = false;
  s.draws = draws;
  s.weeks = 2;
  return s;
}

TEST(Capacity, WholeWeeksBeginOnMondayAndThinEndsAreLeftOut) {
  auto t = work(1, 8, 2);
  t.insert(t.begin(), job(-100, 1, 1));  // a week with one job before
  t.push_back(job(8 * 168 + 30, 1, 1));  // and one that is not whole after
  const TraceWeeks w = whole_weeks(t);
  EXPECT_EQ(w.first, kStart);
  EXPECT_EQ(w.jobs.size(), 8U);
  EXPECT_EQ(w.left_out, 0U);  // the week of that one job is not whole either
  auto thin = work(1, 8, 2);
  std::erase_if(thin, [](const TraceJob& j) { return j.submitted >= kStart + days(49) && j.gpus != 2; });
  thin.push_back(job(8 * 168 + 1, 1, 1));
  EXPECT_EQ(whole_weeks(thin).jobs.size(), 7U);
  EXPECT_EQ(whole_weeks(thin).left_out, 1U);
  EXPECT_TRUE(whole_weeks({}).jobs.empty());
}

TEST(Capacity, JobsBeyondTheLastClassHaveNoTarget) {
  const std::vector<WaitTarget> some = {{8, hours(1), 0.9}, {64, hours(4), 0.9}};
  EXPECT_EQ(class_of(some, 1), 0U);
  EXPECT_EQ(class_of(some, 8), 0U);
  EXPECT_EQ(class_of(some, 9), 1U);
  EXPECT_EQ(class_of(some, 65), 2U) << "none";
  EXPECT_EQ(class_of(usual_targets(), 100'000), 2U) << "the last of three";
  // Every job here is of 16 GPUs at most: a target for 8 judges fewer of them than one for all does.
  const TraceWeeks w = whole_weeks(work(3, 6, 2));
  const double one = 1;
  CapacitySpec s = small(64, 2);
  const auto judged = [&](std::uint32_t gpus_max) {
    s.targets = {{gpus_max, hours(1), 0.9}};
    return chances(draw_months(w, s, std::span(&one, 1), 0), 1).jobs;
  };
  EXPECT_LT(judged(8), judged(16));
  EXPECT_EQ(judged(16), judged(kAnyGpus));
}

TEST(Capacity, TheSameSeedGivesTheSameMonthsWhateverTheThreads) {
  const TraceWeeks w = whole_weeks(work(2, 6, 3));
  CapacitySpec s = small(32, 4);
  const double one = 1;
  const auto met = [&] {
    std::vector<std::uint64_t> out;
    for (const Month& m : draw_months(w, s, std::span(&one, 1), 0)) {
      for (const ClassMonth& c : m.classes) out.push_back(c.in_time);
    }
    return out;
  };
  const auto first = met();
  s.threads = 3;
  EXPECT_EQ(first, met());
  s.seed = 2;
  EXPECT_NE(first, met());
}

TEST(Capacity, DemandGrowsAndShrinksByWhatIsSaid) {
  const TraceWeeks w = whole_weeks(work(3, 10, 4));
  CapacitySpec s = small(2000, 12);  // large: nothing waits
  const auto offered = [&](double growth) {
    double sum = 0;
    for (const Month& m : draw_months(w, s, std::span(&growth, 1), 0)) {
      std::uint64_t jobs = 0;
      for (const ClassMonth& c : m.classes) jobs += c.jobs;
      sum += static_cast<double>(jobs);
    }
    return sum;
  };
  const double one = offered(1);
  EXPECT_NEAR(offered(0.5) / one, 0.5, 0.05);
  EXPECT_NEAR(offered(1.5) / one, 1.5, 0.08);
}

TEST(Capacity, MoreNodesNeverMakeItWorseAndTheLeastIsFound) {
  const TraceWeeks w = whole_weeks(work(4, 8, 4));
  CapacitySpec s = small(40, 6);
  const std::array<std::uint32_t, 2> always = {0, 8};
  const CapacityCurve c = find_capacity(w, s, 1, 0.9, 16, always);
  ASSERT_TRUE(c.least);
  EXPECT_GT(*c.least, 0U);
  EXPECT_LT(c.points.front().all.p, 0.9);
  double before = -1;
  for (const CapacityPoint& p : c.points) {
    EXPECT_GE(p.all.p, before - 0.13) << p.nodes_added;  // the same draws, but queues are not quite monotone
    EXPECT_LE(p.all.low, p.all.p);
    EXPECT_GE(p.all.high, p.all.p);
    EXPECT_TRUE(p.nodes_added != *c.least || p.all.p >= 0.9);
    before = p.all.p;
  }
  EXPECT_FALSE(find_capacity(w, small(8, 2), 1, 0.9, 1, {}).least);
}

TEST(Capacity, AMonthWhoseQueueGrowsWithoutEndIsGivenUpAndLate) {
  const TraceWeeks w = whole_weeks(work(5, 6, 4));
  const double growth = 4;
  const auto months = draw_months(w, small(16, 2), std::span(&growth, 1), 0);
  for (const Month& m : months) {
    EXPECT_TRUE(m.given_up);
    EXPECT_LT(m.weeks_met, m.weeks);
  }
}

TEST(Capacity, AJobThatNeverFitsIsLate) {
  auto t = work(6, 6, 2);
  for (int week = 0; week < 6; ++week) t.push_back(job(week * 168 + 50, 1, 512));
  std::stable_sort(t.begin(), t.end(), [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  const double one = 1;
  const auto p = chances(draw_months(whole_weeks(t), small(64, 3), std::span(&one, 1), 0), 3);
  ASSERT_TRUE(p.classes[2].week);
  EXPECT_EQ(p.classes[2].week->p, 0);
  EXPECT_EQ(p.all.p, 0);
}

TEST(Capacity, ChancesOfAFewDrawsHaveWideIntervals) {
  std::vector<Month> months(10);
  for (Month& m : months) m = {{{10, 10, 4, 4}}, 4, 4, 0.5, false};
  const CapacityPoint p = chances(months, 1);
  EXPECT_EQ(p.all.p, 1);
  EXPECT_NEAR(p.all.low, 10 / (10 + 1.6448536 * 1.6448536), 1e-6);  // Wilson's of 10 of 10
  EXPECT_EQ(*p.classes[0].in_time, 1);
}

// The same process goes on, on a cluster that is nearly full: what is said of it must be near what comes.
TEST(Capacity, HeldOutWeeksOfASteadySiteComeAsPredicted) {
  double off = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const TraceWeeks w = whole_weeks(work(10 + seed, 12, 5));
    const auto h = hold_out(w, small(56, 6), false);
    ASSERT_TRUE(h);
    EXPECT_NEAR(h->growth_came, 1, 0.2);
    const ClassMonth& came = h->came.classes[0];
    ASSERT_GT(came.jobs, 500U);
    const double share = static_cast<double>(came.in_time) / static_cast<double>(came.jobs);
    EXPECT_LT(share, 0.9999);  // there is something to predict
    EXPECT_NEAR(*h->same_demand.classes[0].in_time, share, 0.07) << seed;
    off += (*h->same_demand.classes[0].in_time - share) / 3;
  }
  EXPECT_LT(std::abs(off), 0.05);
  EXPECT_FALSE(hold_out(whole_weeks(work(1, 5, 2)), small(64)));
}

}  // namespace
}  // namespace muster::trial
