// Tables of what GPUs draw and of power caps: those that ship, and one's own.
#include "ingest/power_tables.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(PowerTables, ThoseThatShipAreReadAndEveryRowHasASource) {
  EXPECT_GE(shipped_gpu_watts().size(), 10u);
  for (const GpuWatts& w : shipped_gpu_watts()) EXPECT_FALSE(w.source.empty()) << w.gpu;
  EXPECT_EQ(shipped_power_caps().size(), 26u);
  for (const CapPoint& p : shipped_power_caps()) EXPECT_FALSE(p.source.empty()) << p.gpu << p.cap_w;
}

TEST(PowerTables, OnesOwnMeasurementIsTakenAgainstItsHighestCap) {
  const auto own = parse_power_caps("cap_w,throughput,power_w\n500,554.5,495\n700,665,693\n", "c.csv");
  ASSERT_TRUE(own.has_value()) << own.error().what;
  EXPECT_DOUBLE_EQ((*own)[0].cap_w, 700);
  EXPECT_DOUBLE_EQ((*own)[0].time_ratio, 1);
  EXPECT_NEAR((*own)[1].time_ratio, 1.1993, 1e-4);
  EXPECT_NEAR((*own)[1].energy_ratio, 0.8566, 1e-4);
}

TEST(PowerTables, WhatIsWrongIsNamed) {
  EXPECT_EQ(parse_power_caps("cap_w,throughput\n500,1\n", "c.csv").error().what, "c.csv:1: the column power_w is missing");
  EXPECT_NE(
      parse_power_caps("cap_w,throughput,power_w\n500,0,495\n", "c.csv").error().what.find("c.csv:2: throughput must be above 0"),
      std::string::npos);
  EXPECT_NE(parse_power_caps("cap_w,throughput,power_w\n500,1,495\n500,2,495\n", "c.csv").error().what.find("twice"),
            std::string::npos);
  EXPECT_FALSE(parse_gpu_watts("gpu,idle_w,typical_w,max_w\nx,500,400,700\n", "w.csv").has_value());
}

}  // namespace
}  // namespace muster
