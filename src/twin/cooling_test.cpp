// A row whose cooling fails: its air warms, its GPUs throttle, a power limit cools them, and it recovers.
#include "twin/cooling.h"

#include <gtest/gtest.h>

#include "twin/first_fit.h"

namespace muster::twin {
namespace {

Config two_rows(std::uint64_t seed = 1) {
  Config c = plain_config(16, seed);
  for (std::uint32_t i = 0; i < 16; ++i) c.site.nodes[i].rack = i / 4;
  c.site.racks = {"a", "b", "c", "d"};
  c.site.rack_row = {0, 0, 1, 1};
  c.workload.mix.clear();
  JobSpec spec;
  spec.nodes = 1;
  spec.step_s = 10;
  spec.steps = 100'000;
  for (int i = 0; i < 16; ++i) c.workload.jobs.push_back({seconds(1), spec});
  return c;
}

double newest(const Inbox& in, NodeId n, Field f) {
  double v = -1;
  for (const Sample& s : in.samples) {
    if (s.node == n && s.field == f) v = std::max(v, s.value);
  }
  return v;
}

struct Row : ::testing::Test {
  Twin twin{two_rows()};
  FirstFit control{twin, 16};
  double inlet_c = 0;
  double gpu_c = 0;
  void run(Duration d) {
    const Time end = twin.now().steady + d;
    while (twin.now().steady < end) {
      control.turn();
      if (const double v = newest(control.inbox, NodeId{12}, Field::inlet_temp_c); v > 0) inlet_c = v;
      if (const double v = newest(control.inbox, NodeId{12}, Field::gpu_temp_c); v > 0) gpu_c = v;
    }
  }
  void limit(std::uint32_t pct) {
    Action a;
    a.verb = Verb::limit_power;
    a.limit_pct = pct;
    for (std::uint32_t n = 8; n < 16; ++n) a.nodes.push_back(NodeId{n});
    control.order(a);
  }
};

TEST_F(Row, warms_throttles_and_recovers) {
  run(minutes(40));
  EXPECT_LT(inlet_c, 30);
  ASSERT_TRUE(twin.inject(FaultKind::cooling_fault, NodeId{12}, -1));
  EXPECT_FALSE(twin.inject(FaultKind::cooling_fault, NodeId{8}, -1)) << "the same row";
  run(minutes(4));
  EXPECT_GT(inlet_c, 30) << "within minutes";
  EXPECT_EQ(twin.counters().throttled_gpu_ms, 0U) << "but not at once";
  run(hours(1));
  EXPECT_GT(gpu_c, 80);
  EXPECT_GT(twin.counters().throttled_gpu_ms, 0U);
  run(hours(8));
  EXPECT_LT(inlet_c, 30);
  const std::uint64_t then = twin.counters().throttled_gpu_ms;
  run(hours(1));
  EXPECT_EQ(twin.counters().throttled_gpu_ms, then);
}

TEST_F(Row, a_power_limit_in_time_keeps_it_from_throttling) {
  run(minutes(40));
  ASSERT_TRUE(twin.inject(FaultKind::cooling_fault, NodeId{12}, -1));
  run(minutes(2));
  limit(65);
  run(hours(2));
  EXPECT_EQ(twin.counters().throttled_gpu_ms, 0U);
}

TEST(Cooling, a_failing_unit_is_hotter_the_less_it_does_and_the_more_the_row_gives_off) {
  EXPECT_EQ(settled_rise_c(1, 1), 0);
  EXPECT_GT(settled_rise_c(0.9, 0.3), settled_rise_c(0.9, 0.4));
  EXPECT_GT(settled_rise_c(0.9, 0.3), settled_rise_c(0.6, 0.3));
  EXPECT_NEAR(row_relax(0, 30, minutes(6)), 30 * (1 - 0.3679), 0.01);
}

TEST(Cooling, a_limit_takes_more_power_than_speed) {
  EXPECT_EQ(limited_draw(1), 1);
  EXPECT_EQ(limited_speed(1), 1);
  EXPECT_GT(limited_speed(0.8), limited_draw(0.8));
  EXPECT_GT(limited_speed(0.7), limited_draw(0.7));
}

TEST(Cooling, a_cluster_without_rows_has_no_cooling_fault) {
  Config c = two_rows();
  c.site.rack_row.clear();
  Twin twin(c);
  EXPECT_FALSE(twin.inject(FaultKind::cooling_fault, NodeId{1}, -1));
}

}  // namespace
}  // namespace muster::twin
