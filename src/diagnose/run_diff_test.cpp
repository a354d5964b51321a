#include "diagnose/run_diff.h"

#include <gtest/gtest.h>

#include <array>

#include "diagnose/trace_builder.h"

namespace muster::diagnose {
namespace {

// Five steps of `ns` on the GPU, every other one `jitter` longer.
Machine steps_of(std::int64_t ns, std::uint32_t rank, std::int64_t jitter = 0) {
  Machine m;
  m.b.t.rank = rank;
  m.b.t.ranks = 2;
  for (int k = 0; k < 5; ++k) {
    const std::int64_t from = m.host;
    m.kernel(ns + (k % 2) * jitter);
    m.wait();
    m.b.step({from, m.host});
  }
  return m;
}

struct TwoRanks {
  std::array<Machine, 2> machines;
  std::vector<Profile> ranks;
  TwoRanks(std::int64_t first, std::int64_t second, std::int64_t jitter = 0)
      : machines{steps_of(first, 0, jitter), steps_of(second, 1, jitter)} {
    for (const Machine& m : machines) ranks.push_back(take_apart(m.b.t, "x", Peaks{}));
  }
};

TEST(RunDiff, ProfilesAreMeansOverRanksAndSayWhichRankChanged) {
  const TwoRanks before(10 * ms, 12 * ms), after(10 * ms, 8 * ms);
  const auto d = compare_profiles(before.ranks, after.ranks);
  ASSERT_TRUE(d);
  EXPECT_NEAR(d->before_ms, 11, 0.1);
  EXPECT_NEAR(d->after_ms, 9, 0.1);
  EXPECT_NEAR(d->gain_pct(), 18.2, 0.5);
  EXPECT_FALSE(d->by_chance());
  ASSERT_EQ(d->ranks.size(), 2U);
  EXPECT_EQ(d->ranks[0].rank, "rank 1") << "the one that changed most";
  double sum = 0;
  for (const double x : d->after_share_ms) sum += x;
  EXPECT_NEAR(sum, d->after_ms, 1e-6);
  ASSERT_FALSE(d->kernels.empty());
  EXPECT_NEAR(d->kernels[0].before_ms, 11, 0.1);
  EXPECT_NEAR(d->kernels[0].before_n, 1, 1e-9) << "of one rank";
}

TEST(RunDiff, WhatStepsVaryByIsChance) {
  const TwoRanks before(10 * ms, 10 * ms, 4 * ms), after(10'200 * us, 10'200 * us, 4 * ms), far(20 * ms, 20 * ms, 4 * ms);
  EXPECT_TRUE(compare_profiles(before.ranks, after.ranks)->by_chance());
  EXPECT_FALSE(compare_profiles(before.ranks, far.ranks)->by_chance());
}

TEST(RunDiff, NothingOnAGpuIsNothingToCompare) {
  const TwoRanks before(10 * ms, 10 * ms);
  const Profile empty = [] {
    Profile p;
    p.file = "empty.json";
    return p;
  }();
  const auto d = compare_profiles(before.ranks, {&empty, 1});
  ASSERT_FALSE(d);
  EXPECT_NE(d.error().what.find("empty.json"), std::string::npos);
}

StepLog log_of(double step_s, std::string micro_batch) {
  StepLog log;
  log.form = StepForm::megatron;
  log.clock = StepClock::printed;
  log.arguments = {{"micro_batch_size", std::move(micro_batch)}, {"num_layers", "32"}};
  for (std::uint64_t n = 1; n <= 40; ++n)
    log.steps.push_back({.step = n, .time_s = step_s + 0.001 * static_cast<double>(n % 3), .tflops = 100 / step_s});
  return log;
}

TEST(RunDiff, LogsTellTimesRatesAndSettingsThatDiffer) {
  const auto d = compare_logs(log_of(2, "1"), log_of(1.6, "2"));
  ASSERT_TRUE(d);
  EXPECT_NEAR(d->gain_pct(), 20, 0.2);
  EXPECT_FALSE(d->profiled);
  ASSERT_EQ(d->rates.size(), 1U);
  EXPECT_EQ(d->rates[0].name, "TFLOP/s of a GPU");
  EXPECT_NEAR(d->rates[0].after, 62.5, 1e-9);
  ASSERT_EQ(d->settings.size(), 1U);
  EXPECT_EQ(d->settings[0].name, "micro_batch_size");
  EXPECT_EQ(d->settings[0].after, "2");
  EXPECT_TRUE(compare_logs(log_of(2, "1"), log_of(2, "1"))->by_chance());
  EXPECT_FALSE(compare_logs(log_of(2, "1"), StepLog{})) << "no times";
}

}  // namespace
}  // namespace muster::diagnose
