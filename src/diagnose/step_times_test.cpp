#include "diagnose/step_times.h"

#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

// About 1 s, by a few thousandths up and down.
double about(std::size_t i) { return 1 + 0.004 * static_cast<double>((i * 7919) % 11) - 0.02; }

StepLog log_of(std::size_t n) {
  StepLog log;
  log.form = StepForm::megatron;
  for (std::size_t i = 1; i <= n; ++i)
    log.steps.push_back({.step = i, .time_s = about(i), .line = static_cast<std::uint32_t>(i)});
  return log;
}

TEST(StepTimes, AnEvenRunHasNothingToTell) {
  const StepTimes t = study_steps(log_of(500));
  EXPECT_EQ(t.spread.samples, 500U);
  EXPECT_NEAR(t.spread.median_s, 1, 0.01);
  EXPECT_LT(t.spread.p10_s, t.spread.p90_s);
  EXPECT_EQ(t.outliers, 0U);
  EXPECT_FALSE(t.periodic || t.shift || t.growth);
  EXPECT_TRUE(t.episodes.empty() && t.restarts.empty());
  EXPECT_EQ(study_steps({}).spread.samples, 0U);
}

TEST(StepTimes, SlowStepsAtTheBeginningDoNotCount) {
  StepLog log = log_of(50);
  log.steps[0].time_s = 60;
  log.steps[1].time_s = 4;
  const StepTimes t = study_steps(log);
  EXPECT_EQ(t.warm_up, 2U);
  EXPECT_EQ(t.outliers, 0U);
}

TEST(StepTimes, EveryHundredthStepIsSlow) {
  StepLog log = log_of(1000);
  for (std::size_t i = 100; i <= 1000; i += 100) {
    log.steps[i - 1].time_s = 6;
    log.marks.push_back({i, MarkKind::checkpoint});
  }
  log.steps[333].time_s = 3;  // and one for no reason
  const StepTimes t = study_steps(log);
  ASSERT_TRUE(t.periodic);
  EXPECT_EQ(t.periodic->every, 100U);
  EXPECT_NEAR(t.periodic->extra_s, 5, 0.05);
  EXPECT_NEAR(t.periodic->share_pct, 100 * 50.0 / 1052, 0.3);
  EXPECT_EQ(t.periodic->what, MarkKind::checkpoint);
  EXPECT_FALSE(t.shift);
}

TEST(StepTimes, SlowStepsAtNoEvenDistance) {
  StepLog log = log_of(400);
  for (const std::size_t i : {17U, 60U, 61U, 144U, 230U, 251U, 390U}) log.steps[i].time_s = 2;
  const StepTimes t = study_steps(log);
  EXPECT_EQ(t.outliers, 7U);
  EXPECT_FALSE(t.periodic);
}

TEST(StepTimes, TheStepFromWhichAllAreSlower) {
  for (const std::size_t n : {60U, 700U, 5000U}) {
    StepLog log = log_of(n);
    const std::size_t from = n * 2 / 3;
    for (std::size_t i = from; i < n; ++i) log.steps[i].time_s *= 1.12;
    const StepTimes t = study_steps(log);
    ASSERT_TRUE(t.shift) << n;
    EXPECT_NEAR(static_cast<double>(t.shift->step), static_cast<double>(from + 1), static_cast<double>(n) / 100) << n;
    EXPECT_NEAR(t.shift->after_s / t.shift->before_s, 1.12, 0.01);
    EXPECT_FALSE(t.growth);
  }
}

TEST(StepTimes, LittleByLittle) {
  StepLog log = log_of(600);
  for (std::size_t i = 0; i < 600; ++i) log.steps[i].time_s *= 1 + 0.2 * static_cast<double>(i) / 600;
  const StepTimes t = study_steps(log);
  ASSERT_TRUE(t.growth);
  EXPECT_FALSE(t.shift);
  EXPECT_NEAR(t.growth->after_s / t.growth->before_s, 1.2, 0.02);
}

TEST(StepTimes, BatchesThatGrowAreNoSlowdown) {
  StepLog log = log_of(300);
  for (std::size_t i = 0; i < 300; ++i) {
    log.steps[i].batch = i < 150 ? 128 : 256;
    if (i >= 150) log.steps[i].time_s *= 2;
  }
  const StepTimes t = study_steps(log);
  EXPECT_FALSE(t.shift || t.growth);
  EXPECT_NEAR(t.spread.median_s, 2, 0.02);
}

TEST(StepTimes, SlowStepsInARow) {
  StepLog log = log_of(1000);
  for (std::size_t i = 300; i < 340; ++i) log.steps[i].time_s *= 1.5;
  const StepTimes t = study_steps(log);
  ASSERT_EQ(t.episodes.size(), 1U);
  EXPECT_EQ(t.episodes[0].first, 301U);
  EXPECT_EQ(t.episodes[0].last, 340U);
  EXPECT_NEAR(t.episodes[0].slower_pct, 50, 2);
}

TEST(StepTimes, ARunThatWasStartedAgain) {
  StepLog log;
  double at = 1000;
  for (const auto& [from, to] : {std::pair(1, 120), std::pair(101, 300)}) {
    for (int i = from; i <= to; ++i) log.steps.push_back({.step = static_cast<std::uint64_t>(i), .time_s = 1, .at_s = at += 1});
    at += 600;
  }
  const StepTimes t = study_steps(log);
  ASSERT_EQ(t.restarts.size(), 1U);
  EXPECT_EQ(t.restarts[0].reached, 120U);
  EXPECT_EQ(t.restarts[0].resumed, 101U);
  EXPECT_DOUBLE_EQ(t.restarts[0].gap_s, 601);
  EXPECT_EQ(t.computed_again, 20U);
  EXPECT_DOUBLE_EQ(t.outside_pct, 0);
}

TEST(StepTimes, WhatPassesBetweenSteps) {
  StepLog log = log_of(200);
  double at = 1000;
  for (StepSample& s : log.steps) s.at_s = at += s.time_s + (s.step % 50 == 0 ? 20 : 0);
  EXPECT_NEAR(study_steps(log).outside_pct, 100 * 80.0 / 280, 1);
}

}  // namespace
}  // namespace muster::diagnose
