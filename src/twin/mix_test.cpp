#include "twin/mix.h"

#include <gtest/gtest.h>

#include <map>

#include "twin/heat.h"

namespace muster::twin {
namespace {

TEST(Mix, OffersTheAskedLoad) {
  for (const std::string kind : {"llm", "research", "mixed"}) {
    Mix m(kind, 1.15, 2000, 8, 7);
    double node_s = 0;
    double clock_s = 0;
    for (int i = 0; i < 20000; ++i) {
      const JobSpec j = m.draw();
      node_s += j.nodes * j.step_s * static_cast<double>(j.steps);
      clock_s += m.until_next().seconds();
    }
    EXPECT_NEAR(node_s / (clock_s * 2000), 1.15, 0.12) << kind;
  }
}

TEST(Mix, NoJobIsTooBigForTheCluster) {
  for (const std::uint32_t nodes : {1U, 2U, 16U, 128U, 12500U}) {
    Mix m("llm", 1, nodes, 8, 3);
    for (int i = 0; i < 3000; ++i) {
      const JobSpec j = m.draw();
      EXPECT_GE(j.nodes, 1U);
      EXPECT_LE(j.nodes, std::max(1U, nodes * 12 / 100 + 1));
      EXPECT_GT(j.steps, 0U);
      EXPECT_GT(j.checkpoint_gb, 0);
    }
  }
}

TEST(Mix, SharedOffersTheAskedLoadAndUsesEverything) {
  Mix m("shared", 0.9, 200, 8, 7, 16);
  double gpu_s = 0;
  double clock_s = 0;
  std::map<std::string, int> seen;
  std::uint32_t number = 0;
  for (int i = 0; i < 20000; ++i) {
    const Time utc{1'800'000'000'000'000'000};
    const JobSpec j = m.draw(utc, ++number);
    const double run_s = j.step_s * static_cast<double>(j.steps);
    const double gpus = j.gpu_milli > 0 ? j.gpu_milli / 1000.0 : j.nodes * (j.gpus_per_node > 0 ? j.gpus_per_node : 8);
    gpu_s += std::max(1U, j.array) * gpus * run_s;
    clock_s += m.until_next().seconds();
    seen["part"] += j.gpus_per_node > 0 && j.gpu_milli == 0;
    seen["share"] += j.gpu_milli > 0;
    seen["whole"] += j.gpus_per_node == 0;
    seen["array"] += j.array > 0;
    seen["leaf"] += j.within == Level::leaf;
    seen["prefer"] += j.prefer == Level::leaf;
    seen["deadline"] += j.deadline.ns != 0;
    seen["deferrable"] += j.deferrable;
    seen["after"] += !j.after.empty();
    seen["priority"] += j.priority != 0;
    seen["value"] += j.value_per_gpu_h > 0;
    EXPECT_GE(j.time_limit_s, 1.2 * run_s);
    EXPECT_TRUE(j.deadline.ns == 0 || j.deadline > utc + from_seconds(run_s));
    for (const JobId id : j.after) EXPECT_LT(id.number, number);
  }
  EXPECT_NEAR(gpu_s / (clock_s * 200 * 8), 0.9, 0.1);
  for (const char* what :
       {"part", "share", "whole", "array", "leaf", "prefer", "deadline", "deferrable", "after", "priority", "value"}) {
    EXPECT_GT(seen[what], 100) << what;
  }
}

TEST(Mix, TheSeedDecides) {
  Mix a("mixed", 1, 100, 8, 1);
  Mix b("mixed", 1, 100, 8, 1);
  Mix c("mixed", 1, 100, 8, 2);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const JobSpec x = a.draw();
    const JobSpec y = b.draw();
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.steps, y.steps);
    differs = differs || x.steps != c.draw().steps;
  }
  EXPECT_TRUE(differs);
}

TEST(Heat, LoadWarmsAndAFaultThrottles) {
  const Board b = board_of(12345);
  const Reading idle = read_sensors(b, 23, 0, 0, 0, 1);
  const Reading busy = read_sensors(b, 23, 0.92, 0.92, 0, 1);
  const Reading hot = read_sensors(b, 23, 0.92, 0.92, 33, 0.6);
  EXPECT_LT(idle.temp_c, 40);
  EXPECT_GT(busy.temp_c, 55);
  EXPECT_LT(busy.temp_c, 80);
  EXPECT_GE(hot.temp_c, kThrottleC);
  EXPECT_TRUE(hot.throttled);
  EXPECT_LT(hot.sm_clock_mhz, 0.7 * busy.sm_clock_mhz);
  EXPECT_LT(hot.power_w, busy.power_w);
  EXPECT_GT(busy.power_w, 500);
  EXPECT_NEAR(relax(0, 1, seconds(3600)), 1, 1e-9);
  EXPECT_LT(relax(0, 1, seconds(20)), 0.5);
}

}  // namespace
}  // namespace muster::twin
