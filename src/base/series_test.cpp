#include "base/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/prng.h"

namespace muster {
namespace {

TEST(Series, SplitsWhereTheLevelChanged) {
  const std::vector<double> v = {10, 10.1, 9.9, 10, 10, 13, 13.1, 12.9};
  const auto s = split_levels(v, 1);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->at, 5U);
  EXPECT_DOUBLE_EQ(s->before, 10);
  EXPECT_DOUBLE_EQ(s->after, 13);
  EXPECT_NEAR(s->off, 0.4, 1e-9);
  EXPECT_GT(s->off_unsplit, 9);
}

TEST(Series, OneOddValueIsNoLevel) {
  const std::vector<double> v = {10, 10, 10, 99, 10, 10, 10, 10, 10, 10};
  const auto s = split_levels(v, 3);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->before, s->after);
}

TEST(Series, TheEarliestOfEqualsAndNothingOfTooFew) {
  const std::vector<double> same(8, 2.0);
  EXPECT_EQ(split_levels(same, 2)->at, 2U);
  EXPECT_FALSE(split_levels(same, 5));
  EXPECT_FALSE(split_levels(same, 0));
  EXPECT_FALSE(split_levels({}, 1));
}

TEST(Series, NoSplitIsBetter) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Prng r(seed, "series");
    std::vector<double> v(2 + r.below(40));
    for (double& x : v) x = std::floor(10 * r.unit());
    const std::size_t side = 1 + r.below(v.size() / 2);
    const auto s = split_levels(v, side);
    ASSERT_TRUE(s);
    double least = 1e9;
    for (std::size_t k = side; k + side <= v.size(); ++k) {
      const auto off = [](std::vector<double> part) {
        std::sort(part.begin(), part.end());
        double sum = 0;
        for (const double x : part) sum += std::abs(x - part[part.size() / 2]);
        return sum;
      };
      const auto middle = v.begin() + static_cast<std::ptrdiff_t>(k);
      least = std::min(least, off({v.begin(), middle}) + off({middle, v.end()}));
    }
    ASSERT_NEAR(s->off, least, 1e-9) << "seed " << seed;
  }
}

TEST(Series, TheLastToComeIsInACollectiveTheShortest) {
  EXPECT_EQ(in_collective(1), InCollective::in_line);
  EXPECT_EQ(in_collective(2), InCollective::late);
  EXPECT_EQ(in_collective(0.5), InCollective::slow);
}

}  // namespace
}  // namespace muster
