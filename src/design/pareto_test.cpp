#include "design/pareto.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster::design {
namespace {

using Front = std::vector<bool>;

TEST(Pareto, WhatIsDearerAndSlowerIsBeaten) {
  const Merits all[] = {{1, 9}, {2, 5}, {3, 6}, {4, 2}, {5, 2}};
  EXPECT_EQ(pareto_front(all), (Front{true, true, false, true, false}));
}

TEST(Pareto, OfTwoAlikeNeitherIsBeaten) {
  const Merits all[] = {{1, 2}, {1, 2}, {1, 3}};
  EXPECT_EQ(pareto_front(all), (Front{true, true, false}));
}

TEST(Pareto, OneAloneAndNoneAtAll) {
  const Merits one[] = {{7, 7}};
  EXPECT_EQ(pareto_front(one), Front{true});
  EXPECT_TRUE(pareto_front({}).empty());
}

TEST(Pareto, WhatShouldBeLargeComesWithAMinus) {
  const Merits all[] = {{1, -0.9}, {1, -1.0}};
  EXPECT_EQ(pareto_front(all), (Front{false, true}));
}

TEST(Pareto, SmallDifferencesAreNoneWhereThatIsSaid) {
  const Merits all[] = {{1, -1.000}, {2, -1.004}, {3, -1.02}};
  const double slack[] = {0, 0.005};
  EXPECT_EQ(pareto_front(all, slack), (Front{true, false, true}));
  EXPECT_EQ(pareto_front(all), (Front{true, true, true}));
}

// What cannot be compared beats nothing and is beaten by nothing.
TEST(Pareto, WhatIsNoNumberStandsAlone) {
  const Merits all[] = {{1, 1}, {1, std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_EQ(pareto_front(all), (Front{true, true}));
}

}  // namespace
}  // namespace muster::design
