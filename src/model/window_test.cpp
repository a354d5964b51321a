#include "model/window.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

// 2026-01-01 was a Thursday.
constexpr Time kThursday{1'767'225'600'000'000'000};

TEST(MaintenanceWindow, IsOpenFromItsFirstMinuteToItsLast) {
  const std::vector<Window> w = {{1U << 3, 60, 120, "UTC", {}}};  // Thursdays from 01:00 to 02:00
  EXPECT_EQ(until_window(w, kThursday), hours(1));
  EXPECT_EQ(until_window(w, kThursday + minutes(60)).ns, 0);
  EXPECT_EQ(until_window(w, kThursday + minutes(119) + seconds(59)).ns, 0);
  EXPECT_EQ(until_window(w, kThursday + minutes(120)), days(7) - hours(1));
}

TEST(MaintenanceWindow, OverMidnightBelongsToTheDayItBeganOn) {
  const std::vector<Window> w = {{1U << 2, 22 * 60, 5 * 60, "UTC", {}}};  // Wednesdays from 22:00
  EXPECT_EQ(until_window(w, kThursday).ns, 0) << "it began on Wednesday";
  EXPECT_EQ(until_window(w, kThursday + hours(5)), days(7) - hours(7));
  EXPECT_EQ(until_window(w, kThursday + hours(22)), days(6)) << "Thursday has none";
}

TEST(MaintenanceWindow, FollowsTheClockOfItsZone) {
  // An hour east of UTC, and two from the fourth hour on.
  const std::vector<Window> w = {{127, 6 * 60, 7 * 60, "Europe/Berlin", {{Time{0}, 3600}, {kThursday + hours(4), 7200}}}};
  EXPECT_EQ(until_window(w, kThursday), hours(4)) << "06:00 comes an hour early, when clocks are put forward";
}

TEST(MaintenanceWindow, TheFirstOfSeveralCounts) {
  const std::vector<Window> w = {{1U << 5, 0, 1440, "UTC", {}}, {1U << 4, 12 * 60, 13 * 60, "UTC", {}}};
  EXPECT_EQ(until_window(w, kThursday), hours(36));
}

}  // namespace
}  // namespace muster
