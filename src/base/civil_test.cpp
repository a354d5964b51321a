#include "base/civil.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace muster {
namespace {

TEST(Civil, DaysAndMomentsAreReadAndWrittenBack) {
  EXPECT_EQ(day_of(1970, 1, 1), 0);
  EXPECT_EQ(day_of(2026, 11, 15), 20'772);
  EXPECT_EQ(day_of(2024, 2, 29), 19'782);
  EXPECT_FALSE(day_of(2026, 2, 29));
  EXPECT_FALSE(day_of(2100, 2, 29)) << "every fourth year, but not every hundredth";
  EXPECT_TRUE(day_of(2000, 2, 29));
  EXPECT_FALSE(day_of(2026, 13, 1));
  EXPECT_FALSE(day_of(2026, 4, 31));
  EXPECT_EQ(render_day(20'772), "2026-11-15");
  EXPECT_EQ(day_of(Time{-1}), -1) << "before 1970 days begin at midnight too";
  EXPECT_EQ(day_of(Time{0}), 0);
  for (std::int64_t d = -90'000; d < 100'000; d += 37) {
    const auto t = parse_moment_utc(render_day(d));
    ASSERT_TRUE(t) << render_day(d);
    EXPECT_EQ(*t, begin_of(d));
    EXPECT_EQ(day_of(*t), d);
  }
}

TEST(Civil, AMomentMayLeaveOutWhatIsNought) {
  const Time t = begin_of(20'772) + hours(2) + minutes(3);
  EXPECT_EQ(parse_moment_utc("2026-11-15T02:03Z"), t);
  EXPECT_EQ(parse_moment_utc("2026-11-15T02:03"), t);
  EXPECT_EQ(parse_moment_utc("2026-11-15T02:03:04Z"), t + seconds(4));
  EXPECT_EQ(parse_moment_utc("2026-11-15T02:03:04.5Z"), t + milliseconds(4500));
  Prng prng(1, "moments");
  for (int i = 0; i < 1000; ++i) {
    const Time any = Time{static_cast<std::int64_t>(prng.below(4'000'000'000'000)) * 1'000'000};
    EXPECT_EQ(parse_moment_utc(render_utc(any)), any);
  }
}

TEST(Civil, WhatIsNoMomentIsRefused) {
  for (const char* bad : {"", "2026", "2026-11", "2026-11-1", "2026-11-15T", "2026-11-15T24:00Z", "2026-11-15T02:60Z",
                          "2026-11-15T02:03:60Z", "2026-11-15T02:03:04+01:00", "2026-11-15 02:03Z", "2026-11-15T02:03:04.Z",
                          "2026-11-15T02:03:04.1234567890Z", "2026-11-15T02:03Zx", "1699-01-01", "2262-01-01"}) {
    EXPECT_FALSE(parse_moment_utc(bad)) << bad;
  }
}

}  // namespace
}  // namespace muster
