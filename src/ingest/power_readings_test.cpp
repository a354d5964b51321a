// Readings of power: what nvidia-smi and muster energy record write, and what Prometheus answers.
#include "ingest/power_readings.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(PowerReadings, WhatNvidiaSmiWritesIsRead) {
  PowerBook b;
  const auto ok = b.take_csv(
      "timestamp, name, index, uuid, power.draw [W]\n"
      "2026/11/15 01:02:03.250, NVIDIA H200, 0, GPU-a, 693.12 W\n"
      "2026/11/15 01:02:03.251, NVIDIA H200, 1, GPU-b, [N/A]\n"
      "2026/11/15 01:02:04.250, NVIDIA H200, 0, GPU-a, 81.5\n"
      "2026/11/15 01:02:05.2",
      "p.csv", "gpu001", {{Time{0}, 3600}});
  ASSERT_TRUE(ok.has_value()) << ok.error().what;
  const PowerReadings r = b.finish();
  ASSERT_EQ(r.tracks.size(), 1u);  // GPU-b said nothing
  EXPECT_EQ(r.refused, 2u);
  EXPECT_NE(r.some_refused.find("GPU-b"), std::string::npos);
  const PowerTrack& t = r.tracks[0];
  EXPECT_EQ(t.node, "gpu001");
  EXPECT_EQ(t.index, 0);
  EXPECT_EQ(render_utc(t.points[0].at), "2026-11-15T00:02:03.250Z");
  EXPECT_DOUBLE_EQ(t.points[0].power_w, 693.12);
  EXPECT_DOUBLE_EQ(t.points[1].power_w, 81.5);
}

TEST(PowerReadings, TheHourThatComesTwiceIsReadTwice) {
  // Europe/Berlin on 2026-10-25: at 01:00 UTC clocks go from 03:00 back to 02:00
  const ZoneOffsets berlin = {{Time{0}, 7200}, {Time{1'792'890'000'000'000'000}, 3600}};
  PowerBook b;
  ASSERT_TRUE(
      b.take_csv("timestamp,uuid,power.draw\n2026/10/25 02:30:00.000,GPU-a,100\n2026/10/25 02:45:00.000,GPU-a,100\n"
                 "2026/10/25 02:00:00.500,GPU-a,200\n2026/10/25 02:30:00.000,GPU-a,200\n",
                 "p", "n", berlin));
  const PowerReadings r = b.finish();
  ASSERT_EQ(r.tracks[0].points.size(), 4u);
  EXPECT_EQ(render_utc(r.tracks[0].points[0].at), "2026-10-25T00:30:00Z");
  EXPECT_EQ(render_utc(r.tracks[0].points[2].at), "2026-10-25T01:00:00.500Z");
  EXPECT_EQ(render_utc(r.tracks[0].points[3].at), "2026-10-25T01:30:00Z");
}

TEST(PowerReadings, AnAnswerOfPrometheusGivesPowerAndEnergyOfOneGpu) {
  std::string body =
      R"({"status":"success","data":{"resultType":"matrix","result":[)"
      R"({"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","UUID":"GPU-a","gpu":"3","Hostname":"gpu01","modelName":"NVIDIA H200"},)"
      R"("values":[[1793491200,"500"],[1793491215,"510"],[1793491230,"NaN"]]},)"
      R"({"metric":{"__name__":"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION","UUID":"GPU-a","gpu":"3","Hostname":"gpu01"},)"
      R"("values":[[1793491200,"1000000"],[1793491215,"9223372036854775794"]]},)"
      R"({"metric":{"__name__":"ipmi_dcmi_power_consumption_watts","instance":"gpu001:9290"},"values":[[1793491200,"6100"]]},)"
      R"({"metric":{"__name__":"up","instance":"gpu001:9290"},"values":[[1793491200,"1"]]}]}})";
  PowerBook b;
  EXPECT_EQ(b.take_answer(body, "a").value(), 3u);
  const PowerReadings r = b.finish();
  ASSERT_EQ(r.tracks.size(), 2u);
  EXPECT_EQ(r.refused, 2u);  // NaN, and DCGM's word for none
  const PowerTrack &node = r.tracks[0], &gpu = r.tracks[1];
  ASSERT_EQ(gpu.points.size(), 2u);
  EXPECT_EQ(gpu.points[0].energy_mj, 1'000'000);
  EXPECT_DOUBLE_EQ(gpu.points[0].power_w, 500);
  EXPECT_EQ(gpu.index, 3);
  EXPECT_TRUE(node.whole_node);
}

TEST(PowerReadings, WhatIsNoSuchTableIsRefused) {
  PowerBook b;
  const auto none = b.take_csv("a,b\n1,2\n", "p.csv", "", {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().what, "p.csv:1: the columns timestamp, uuid or index, and power.draw are needed");
  EXPECT_FALSE(b.take_csv("", "p.csv", "", {}).has_value());
  EXPECT_FALSE(b.take_csv("timestamp,uuid,power.draw\nnever,GPU-a,1\n", "p.csv", "", {}).has_value());
}

}  // namespace
}  // namespace muster
