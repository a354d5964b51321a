#include "detect/onset.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::detect {
namespace {

std::vector<Pacepoint> every_minute(std::initializer_list<double> values) {
  std::vector<Pacepoint> out;
  Time t{};
  for (const double v : values) out.push_back({t = t + minutes(1), v});
  return out;
}

double onset_min(const std::vector<Pacepoint>& p) { return (onset(p) - Time{}).seconds() / 60; }

TEST(Onset, IsWhereTheLevelChanged) { EXPECT_DOUBLE_EQ(onset_min(every_minute({1, 1, 1, 1, 1, 1.4, 1.4, 1.4})), 5); }

TEST(Onset, OneOddValueIsNoChange) { EXPECT_DOUBLE_EQ(onset_min(every_minute({1, 3, 1, 1, 1, 1.4, 1.4, 1.4, 1.4})), 5); }

TEST(Onset, AMixedStretchTellsHowFarIntoItThatWas) {
  // The sixth minute is half fast, half slow.
  EXPECT_NEAR(onset_min(every_minute({1, 1, 1, 1, 1, 1.2, 1.4, 1.4, 1.4})), 5.5, 0.51);
}

TEST(Onset, NoiseMovesItLittle) {
  EXPECT_NEAR(onset_min(every_minute({1.01, 0.99, 1.02, 1, 0.98, 1.01, 1.31, 1.29, 1.33, 1.3})), 6, 0.2);
}

TEST(Onset, FewPointsGiveTheFirst) {
  EXPECT_EQ(onset({}), Time{});
  EXPECT_DOUBLE_EQ(onset_min(every_minute({1, 2})), 1);
}

}  // namespace
}  // namespace muster::detect
