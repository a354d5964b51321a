#include "trial/openb.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster::trial {
namespace {

std::int64_t no_clock() { return 0; }

// 40 nodes of 8 GPUs; pods of one GPU, half a GPU and eight GPUs.
OpenbWorkload workload() {
  OpenbWorkload w;
  w.nodes.assign(40, {96000, 393216, 8, 0});
  for (int i = 0; i < 200; ++i) w.pods.push_back({6000, 8192, 1, 1000, share::kAnyModel});
  for (int i = 0; i < 60; ++i) w.pods.push_back({3000, 8192, 1, 500, share::kAnyModel});
  for (int i = 0; i < 5; ++i) w.pods.push_back({48000, 8192, 8, 1000, share::kAnyModel});
  for (int i = 0; i < 20; ++i) w.pods.push_back({8000, 8192, 0, 0, share::kAnyModel});
  return w;
}

TEST(OpenbTrial, TheSeedDecidesEverything) {
  for (const auto policy : {OpenbPolicy::random, OpenbPolicy::best_fit, OpenbPolicy::fgd, OpenbPolicy::muster}) {
    const OpenbOutcome a = run_openb(workload(), policy, 5, no_clock);
    const OpenbOutcome b = run_openb(workload(), policy, 5, no_clock);
    EXPECT_EQ(a.alloc_pct_100, b.alloc_pct_100);
    EXPECT_EQ(a.alloc_pct_130, b.alloc_pct_130);
    EXPECT_EQ(a.lost, b.lost);
    EXPECT_NE(run_openb(workload(), policy, 6, no_clock).alloc_pct_100, a.alloc_pct_100);
  }
}

TEST(OpenbTrial, AllocationIsAtMostWhatArrivedAndGrows) {
  const OpenbOutcome r = run_openb(workload(), OpenbPolicy::muster, 1, no_clock);
  EXPECT_GT(r.alloc_pct_100, 90);
  EXPECT_LE(r.alloc_pct_100, 100.5);
  EXPECT_GE(r.alloc_pct_130, r.alloc_pct_100);
  EXPECT_LE(r.alloc_pct_130, 100);
  EXPECT_GT(r.lost, 0u);
}

TEST(OpenbTrial, AListThatAsksForTooMuchIsCutDown) {
  OpenbWorkload w = workload();
  for (int i = 0; i < 400; ++i) w.pods.push_back({1000, 1024, 1, 1000, share::kAnyModel});
  const OpenbOutcome r = run_openb(w, OpenbPolicy::best_fit, 1, no_clock);
  EXPECT_LT(r.pods, w.pods.size());
  EXPECT_FALSE(std::isnan(r.alloc_pct_130));
}

TEST(OpenbTrial, OnASmallClusterTheNearestLoadCounts) {
  OpenbWorkload w;
  w.nodes.assign(5, {96000, 393216, 8, 0});
  w.pods.assign(6, {48000, 8192, 7, 1000, share::kAnyModel});  // loads of 17.5 %, 35 %, ... 105 %: none near enough to 100 %
  EXPECT_TRUE(std::isnan(run_openb(w, OpenbPolicy::muster, 1, no_clock).alloc_pct_100));
  w.pods.assign(6, {48000, 8192, 8, 1000, share::kAnyModel});
  w.pods.push_back({1000, 1024, 1, 700, share::kAnyModel});  // 101.75 % is the nearest, or 100 % itself
  EXPECT_FALSE(std::isnan(run_openb(w, OpenbPolicy::muster, 1, no_clock).alloc_pct_100));
}

TEST(OpenbTrial, PodsWithoutGpusEndTheRun) {
  OpenbWorkload w = workload();
  w.pods.assign(3, {1000, 1024, 0, 0, share::kAnyModel});
  const OpenbOutcome r = run_openb(w, OpenbPolicy::muster, 1, no_clock);
  EXPECT_EQ(r.pods, 3u);
  EXPECT_TRUE(std::isnan(r.alloc_pct_100));  // never 100 % arrived
}

TEST(OpenbTrial, TheSpreadIsTheSampleDeviation) {
  const OpenbSummary s = summarise({{1, 90, 91, 2, 1, 0}, {2, 92, 93, 4, 1, 0}});
  EXPECT_DOUBLE_EQ(s.alloc_pct_100_mean, 91);
  EXPECT_NEAR(s.alloc_pct_100_sd, std::sqrt(2.0), 1e-12);
  EXPECT_DOUBLE_EQ(s.alloc_pct_130_mean, 92);
  EXPECT_DOUBLE_EQ(s.decision_us_mean, 3);
  EXPECT_DOUBLE_EQ(summarise({{1, 90, 91, 2, 1, 0}}).alloc_pct_100_sd, 0);
}

}  // namespace
}  // namespace muster::trial
