#include "trial/decay.h"

#include <gtest/gtest.h>

namespace muster::trial {
namespace {

TEST(Decay, WarningsComeInTimeAndAreWorthTheirWords) {
  const DecayReport r = bench_decay(202);
  ASSERT_GT(r.announced, 20U);
  EXPECT_GT(r.recall(), 0.5);
  EXPECT_GT(r.precision(), 0.7);
  EXPECT_GT(r.lead_h_p50, 3);
  EXPECT_NEAR(100 * r.precision(), static_cast<double>(r.said_pct()), 15);
}

TEST(Decay, WhatFailsOutOfTheBlueIsNotCountedAsForetold) {
  const DecayReport r = bench_decay(203);
  EXPECT_GT(r.failures, r.announced);
  EXPECT_LE(r.warned, r.announced);
}

TEST(Decay, TheSameSeedGivesTheSameFigures) {
  const DecayReport a = bench_decay(7, 10), b = bench_decay(7, 10);
  EXPECT_EQ(a.failures, b.failures);
  EXPECT_EQ(a.warnings, b.warnings);
  EXPECT_EQ(a.lead_h_p50, b.lead_h_p50);
}

}  // namespace
}  // namespace muster::trial
