// Hot rows: how much power is taken, when, and when it is given back.
#include "decide/energy/heat.h"

#include <gtest/gtest.h>

namespace muster::decide {
namespace {

RowHeat row(double hottest_c, double trend, std::uint32_t limit = 100, std::int64_t since_min = 60) {
  RowHeat r;
  r.last = {0, 30, hottest_c, trend};
  r.finding = FindingId{1};
  r.limit_pct = limit;
  r.limited = limit < 100 ? Time{0} + minutes(100 - since_min) : Time{};
  return r;
}
const Time kNow = Time{0} + minutes(100);

TEST(Heat, limits_by_what_is_predicted_not_by_what_is) {
  EXPECT_EQ(wanted_limit(row(70, 0.5), 87, kNow), 100U);
  EXPECT_LT(wanted_limit(row(76, 3), 87, kNow), 100U) << "88 C in four minutes";
  EXPECT_LT(wanted_limit(row(76, 5), 87, kNow), wanted_limit(row(76, 3), 87, kNow)) << "faster means more";
  EXPECT_EQ(wanted_limit(row(95, 9, 62), 87, kNow), kLimitFloorPct) << "never below the floor";
}

TEST(Heat, waits_for_a_limit_to_show_before_the_next_step) {
  EXPECT_EQ(wanted_limit(row(86, 0, 85, 1), 87, kNow), 85U);
  EXPECT_LT(wanted_limit(row(86, 0, 85, 3), 87, kNow), 85U);
}

TEST(Heat, lifts_step_by_step_when_the_row_cools) {
  EXPECT_EQ(wanted_limit(row(82, 0, 80), 87, kNow), 80U) << "not yet";
  EXPECT_EQ(wanted_limit(row(75, -1, 80), 87, kNow), 84U);
  EXPECT_EQ(wanted_limit(row(75, -1, 80, 2), 87, kNow), 80U) << "slowly";
  EXPECT_EQ(wanted_limit(row(60, 0, 98), 87, kNow), 100U);
}

TEST(Heat, speed_follows_the_measured_curve) {
  EXPECT_EQ(speed_at_limit(100), 1);
  EXPECT_NEAR(speed_at_limit(85), 621.0 / 665, 0.01);
  EXPECT_NEAR(speed_at_limit(71), 554.5 / 665, 0.01);
  for (std::uint32_t p = 1; p < 100; ++p) EXPECT_LE(speed_at_limit(p), speed_at_limit(p + 1));
}

}  // namespace
}  // namespace muster::decide
