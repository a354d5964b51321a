#include "detect/growth.h"

#include <gtest/gtest.h>

namespace muster::detect {
namespace {
constexpr Time at(std::int64_t s) { return Time{s * 1'000'000'000}; }

TEST(Growth, TheFirstSampleIsTheBaseline) {
  Counter c;
  EXPECT_EQ(c.add(5000, at(0), minutes(5)).step, 0);
  EXPECT_EQ(c.add(5003, at(60), minutes(5)).step, 3);
}

TEST(Growth, AFallIsNoGrowthUnlessTheCountStartsAnew) {
  Counter c, restarting;
  c.add(70, at(0), minutes(5));
  restarting.add(70, at(0), minutes(5));
  EXPECT_EQ(c.add(4, at(60), minutes(5)).step, 0);
  EXPECT_EQ(restarting.add(4, at(60), minutes(5), true).step, 4);
  EXPECT_EQ(c.add(6, at(120), minutes(5)).step, 2);
}

TEST(Growth, ACounterOf32BitsWraps) {
  Counter c;
  c.add(4294967290.0, at(0), minutes(5));
  EXPECT_EQ(c.add(4, at(60), minutes(5)).step, 10);
}

TEST(Growth, WhatGrewOverAGapIsNoBurst) {
  Counter burst, gap;
  burst.add(0, at(0), minutes(5));
  EXPECT_TRUE(beyond(burst.add(100, at(60), minutes(5)), 50, minutes(5)));
  gap.add(0, at(0), minutes(5));
  EXPECT_FALSE(beyond(gap.add(100, at(7200), minutes(5)), 50, minutes(5)));
}

TEST(Growth, TheWindowForgets) {
  Counter c;
  c.add(0, at(0), minutes(5));
  c.add(45, at(60), minutes(5));
  Growth g;
  for (int i = 2; i < 20; ++i) g = c.add(45, at(60 * i), minutes(5));
  EXPECT_EQ(g.in_window, 0);
  EXPECT_LE(g.over.seconds(), 400);
}

}  // namespace
}  // namespace muster::detect
