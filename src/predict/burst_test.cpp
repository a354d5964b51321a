#include "predict/burst.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::predict {
namespace {

BurstAsk peak() {
  BurstAsk a;
  a.gpu_hours = 10'000;
  a.gpus = 100;
  a.usd_per_gpu_hour = 3;
  a.data_tb = 20;
  a.results_tb = 2;
  a.link_gbit_s = 10;
  a.egress_usd_per_gb = 0.09;
  a.own_gpus = 50;
  a.queue_hours = 100;
  a.own_usd_per_gpu_hour = 0.1;
  return a;
}

const BurstOption& option(const Burst& b, BurstWay way) {
  return *std::find_if(b.options.begin(), b.options.end(), [&](const BurstOption& o) { return o.way == way; });
}

TEST(Burst, RentingPaysForItsHoursAndForWhatComesBack) {
  const auto b = burst(peak());
  ASSERT_TRUE(b);
  EXPECT_NEAR(b->link_gb_s, 1.25 * 0.94, 1e-9);
  const BurstOption& rent = option(*b, BurstWay::rent);
  EXPECT_NEAR(rent.usd, 30'000 + 2000 * 0.09, 1e-6);
  EXPECT_NEAR(rent.hours, 0.5 + 22'000 / (1.25 * 0.94) / 3600 + 100, 1e-6);
  const BurstOption& wait = option(*b, BurstWay::wait);
  EXPECT_NEAR(wait.usd, 1000, 1e-9);
  EXPECT_NEAR(wait.hours, 300, 1e-9);
  EXPECT_EQ(b->best()->way, BurstWay::wait) << "who has time waits";
}

TEST(Burst, RoundTripsHoldStreamsBack) {
  BurstAsk a = peak();
  a.rtt_ms = 100;
  const auto b = burst(a);
  EXPECT_TRUE(b->by_window);
  EXPECT_NEAR(b->link_gb_s, 8 * 4 * 1.048576e6 / 1e9 / 0.1, 1e-9);
  a.streams = 64;
  EXPECT_FALSE(burst(a)->by_window);
}

TEST(Burst, ADeadlineMakesRentingWinUntilItsDataAreTooMany) {
  BurstAsk a = peak();
  a.by_hours = 150;
  const auto b = burst(a);
  ASSERT_NE(b->best(), nullptr);
  EXPECT_EQ(b->best()->way, BurstWay::rent);
  const auto turn = std::find_if(b->turns.begin(), b->turns.end(), [](const BurstTurn& t) { return t.what == "data_tb"; });
  ASSERT_NE(turn, b->turns.end());
  // 49.5 hours of transfers, a tenth of them back.
  EXPECT_NEAR(turn->at, 49.5 * 3600 * 1.25 * 0.94 / 1000 / 1.1, 0.01);
  EXPECT_TRUE(turn->by_time);
  a.by_hours = 10;
  EXPECT_EQ(burst(a)->best(), nullptr) << "nothing is in time";
}

TEST(Burst, WhatADayCostsTurnsTheChoiceByPrice) {
  BurstAsk a = peak();
  a.late_usd_per_day = 20'000;
  const auto b = burst(a);
  EXPECT_EQ(b->best()->way, BurstWay::rent);
  const auto turn =
      std::find_if(b->turns.begin(), b->turns.end(), [](const BurstTurn& t) { return t.what == "usd_per_gpu_hour"; });
  ASSERT_NE(turn, b->turns.end());
  a.usd_per_gpu_hour = turn->at;
  const auto even = burst(a);
  EXPECT_NEAR(option(*even, BurstWay::rent).usd, option(*even, BurstWay::wait).usd, 1) << "there both cost the same";
  EXPECT_FALSE(turn->by_time);
}

TEST(Burst, BuyingServesManyPeaks) {
  BurstAsk a = peak();
  a.buy_usd_per_gpu_hour = 1;
  a.peaks_a_year = 100;
  a.lead_days = 90;
  const auto b = burst(a);
  EXPECT_NEAR(option(*b, BurstWay::buy).usd, 100 * 8760 / 100.0, 1e-6);
  EXPECT_NEAR(option(*b, BurstWay::buy).hours, 90 * 24 + 100, 1e-9);
}

TEST(Burst, WhatCannotBeIsRefused) {
  BurstAsk a = peak();
  a.link_gbit_s = 0;
  EXPECT_FALSE(burst(a)) << "data without a link";
  a = peak();
  a.gpu_hours = 0;
  EXPECT_FALSE(burst(a));
}

}  // namespace
}  // namespace muster::predict
