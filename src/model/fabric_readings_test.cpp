#include "model/fabric_readings.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

CounterReading one(const char* counter, std::uint64_t value) {
  CounterReading r;
  r.ports.push_back({{7, "leaf-000", 9}, {{counter, value}}});
  r.complete = true;
  return r;
}
CounterReading nothing(bool complete) {
  CounterReading r;
  r.complete = complete;
  return r;
}

TEST(CounterGrowth, is_what_was_added_over_the_time_between) {
  const auto g = counter_growth(one("PortRcvErrors", 100), one("PortRcvErrors", 160), 30);
  ASSERT_EQ(g.size(), 1u);
  EXPECT_EQ(g[0].grew, 60u);
  EXPECT_DOUBLE_EQ(g[0].per_s, 2);
  EXPECT_FALSE(g[0].pegged);
  EXPECT_TRUE(counter_growth(one("PortRcvErrors", 100), one("PortRcvErrors", 100), 30).empty());
}

TEST(CounterGrowth, a_port_that_was_silent_had_nothing_where_the_reading_was_complete) {
  ASSERT_EQ(counter_growth(nothing(true), one("PortRcvErrors", 5), 10).size(), 1u);
  EXPECT_TRUE(counter_growth(nothing(false), one("PortRcvErrors", 5), 10).empty());
}

// A switch that did not answer the time before has not made all its errors since.
TEST(CounterGrowth, a_port_that_was_not_reached_before_has_not_grown_where_all_are_listed) {
  CounterReading before = nothing(true);
  before.lists_all = true;
  EXPECT_TRUE(counter_growth(before, one("PortRcvErrors", 60'000), 10).empty());
  before.ports.push_back({{7, "leaf-000", 9}, {}});
  EXPECT_EQ(counter_growth(before, one("PortRcvErrors", 5), 10).size(), 1u);
}

TEST(CounterGrowth, silence_below_a_threshold_counts_from_there) {
  CounterReading before = nothing(true);
  before.floors["PortRcvErrors"] = 10;
  const auto g = counter_growth(before, one("PortRcvErrors", 12), 10);
  ASSERT_EQ(g.size(), 1u);
  EXPECT_EQ(g[0].grew, 2u);
}

TEST(CounterGrowth, one_at_its_maximum_is_told_even_when_it_did_not_move) {
  const auto g = counter_growth(one("SymbolErrorCounter", 65535), one("SymbolErrorCounter", 65535), 10);
  ASSERT_EQ(g.size(), 1u);
  EXPECT_TRUE(g[0].pegged);
  EXPECT_EQ(g[0].grew, 0u);
  EXPECT_EQ(counter_maximum("LinkDownedCounter"), 255u);
  EXPECT_EQ(counter_maximum("PortXmitData"), 0u);
}

TEST(CounterGrowth, one_that_was_cleared_grew_by_what_it_has_since) {
  const auto g = counter_growth(one("PortRcvErrors", 100), one("PortRcvErrors", 3), 10);
  ASSERT_EQ(g.size(), 1u);
  EXPECT_TRUE(g[0].was_reset);
  EXPECT_EQ(g[0].grew, 3u);
}

}  // namespace
}  // namespace muster
