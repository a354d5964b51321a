#include "accept/figures.h"

#include <gtest/gtest.h>

#include "accept/sample.h"

namespace muster::accept {
namespace {

using namespace accepting;

Acceptance one_gpu() {
  Acceptance a;
  a.suite.version = "1";
  a.gpus.push_back({0, "GPU-1", "1", "NVIDIA H200", "", "", "", 132, 143771, 700, 700, 5, 16});
  return a;
}

TEST(Figures, RepetitionsGiveTheirMiddle) {
  Acceptance a = one_gpu();
  for (const double v : {4690.0, 4700.0, 100.0}) a.measured.push_back({0, AcceptTest::hbm, 0, "hbm_read", v, 0, 0, -1});
  EXPECT_EQ(figures_of(a, 0).value.at("hbm_read"), 4690) << "one disturbed pass moves nothing";
}

TEST(Figures, WhatShouldBeLowIsBestWhereLow) {
  Acceptance a = one_gpu();
  a.measured.push_back({0, AcceptTest::sweep, 0, "sweep_fp32", 1.2, 0, 0, -1});
  a.measured.push_back({0, AcceptTest::sweep, 1, "sweep_fp32", 1.01, 0, 0, -1});
  EXPECT_EQ(figures_of(a, 0).value.at("sweep_fp32"), 1.01);
}

TEST(Figures, ARateHeldAtAClockIsAlsoARatePerMhz) {
  Acceptance a = one_gpu();
  a.measured.push_back({0, AcceptTest::gemm_bf16, 0, "gemm_bf16", 742, 1, 3, 1484});
  for (const double mhz : {1480.0, 1484.0, 1488.0, 1484.0})
    a.measured.push_back({0, AcceptTest::sustained, 0, "sustained_bf16", 0.46 * mhz, 5, 1, mhz});
  a.measured.push_back({0, AcceptTest::sustained, 0, "power_w", 690, 0, 0, -1});
  const Figures f = figures_of(a, 0);
  EXPECT_DOUBLE_EQ(f.value.at("bf16_per_mhz"), 0.5);
  EXPECT_NEAR(f.value.at("sustained_bf16_per_mhz"), 0.46, 1e-12);
  EXPECT_EQ(f.value.at("mhz_at_cap"), 1484);
  EXPECT_LT(f.value.at("sustained_bf16_spread"), 1e-9) << "the clock moved and the unit did not";
  EXPECT_NEAR(f.value.at("bf16_per_w"), 0.46 * 1484 / 690, 1e-9);
}

TEST(Figures, HotTestsHaveFiguresOfTheirOwn) {
  Acceptance a = one_gpu();
  a.measured.push_back({0, AcceptTest::march, 0, "march_verify", 4600, 0, 0, -1});
  a.measured.push_back({0, AcceptTest::march_hot, 0, "march_verify", 4000, 0, 0, -1});
  const Figures f = figures_of(a, 0);
  EXPECT_EQ(f.value.at("march_verify"), 4600);
  EXPECT_EQ(f.value.at("march_verify_hot"), 4000);
}

TEST(Figures, OfThePairsTheSlowestCounts) {
  Acceptance a = one_gpu();
  for (const char* pair : {"pair_gb_s:0>1", "pair_gb_s:0>2"})
    a.measured.push_back({0, AcceptTest::peers, 0, pair, 388, 0, 0, -1});
  a.measured.push_back({0, AcceptTest::peers, 0, "pair_gb_s:0>3", 20, 0, 0, -1});
  EXPECT_EQ(figures_of(a, 0).value.at("pair_gb_s"), 20);
}

TEST(Figures, PowerIsReadWhereProductsWereHeldAndHeatOverAll) {
  Acceptance a = one_gpu();
  a.measured.push_back({0, AcceptTest::sustained, 0, "sustained_bf16", 685, 10, 2, 1484});
  for (int i = 0; i < 200; ++i) {
    const double at = 0.1 * i;
    const bool load = at >= 10 && at <= 12;
    a.readings.push_back({0, at, load ? 690.0 : 100.0, 1484, load ? 60.0 : 40.0, 50, 0});
  }
  a.readings.push_back({0, 15, 963, 1484, 64, 50, 0});
  a.readings.push_back({1, 11, 5, 1484, 99, 50, 0});
  std::map<std::string, double> said;
  for (const Measured& m : from_readings(a)) said[m.metric] = m.value;
  EXPECT_DOUBLE_EQ(said.at("power_w"), 690);
  EXPECT_EQ(said.at("power_max_w"), 963);
  EXPECT_EQ(said.at("gpu_c_max"), 64) << "of another GPU nothing is taken";
}

TEST(Figures, WithoutReadingsNothingIsSaidOfPower) {
  EXPECT_TRUE(from_readings(one_gpu()).empty());
  EXPECT_TRUE(figures_of(one_gpu(), 7).value.empty());
}

}  // namespace
}  // namespace muster::accept
