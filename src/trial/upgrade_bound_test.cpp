#include "trial/upgrade_bound.h"

#include <gtest/gtest.h>

namespace muster::trial {
namespace {

DrainBound idle(std::size_t nodes, std::size_t at_once) {
  DrainBound b;
  b.free.assign(nodes, Duration{});
  b.at_once = at_once;
  b.turn = hours(1);
  return b;
}

TEST(DrainBound, IdleNodesTakeTheirTurnsInAsManyRoundsAsTheBudgetAsksFor) {
  EXPECT_EQ(drain_bound(idle(10, 3)), hours(4));
  EXPECT_EQ(drain_bound(idle(9, 3)), hours(3));
}

TEST(DrainBound, ALongJobIsWaitedFor) {
  DrainBound b = idle(10, 5);
  b.free[4] = hours(40);
  EXPECT_EQ(drain_bound(b), hours(41));
}

TEST(DrainBound, NodesThatComeFreeTogetherWaitForEachOther) {
  DrainBound b = idle(6, 2);
  for (Duration& d : b.free) d = hours(5);
  EXPECT_EQ(drain_bound(b), hours(8));
}

TEST(DrainBound, NobodyBeginsBeforeTheCanariesHaveBeenWatchedAndThoseFreeFirstAreCanaries) {
  DrainBound b = idle(4, 4);
  b.first = {0, 1};
  b.canaries = 1;
  b.free[0] = hours(9);
  b.free[1] = hours(2);
  b.watch = hours(3);
  EXPECT_EQ(drain_bound(b), hours(10)) << "the canary is watched until 6, the others are back at 7, but for the busy one";
}

TEST(DrainBound, WhereAllAreCanariesNobodyWaitsForTheWatch) {
  DrainBound b = idle(3, 3);
  b.canaries = 3;
  b.watch = hours(3);
  EXPECT_EQ(drain_bound(b), hours(1));
}

}  // namespace
}  // namespace muster::trial
