// Readings of power: what nvidia-smi and muster energy record write, and what Prometheus answers.
#include "ingest/power_readings.h"

#include <fmt/core.h>
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

using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

// One series of one GPU, one point each 15 s.
bool take(PowerBook& b, const Labels& labels, const std::vector<double>& values) {
  std::vector<PromPoint> points;
  for (std::size_t i = 0; i < values.size(); ++i)
    points.push_back({1'793'491'200'000 + 15'000 * static_cast<std::int64_t>(i), values[i]});
  return b.take_series({labels, points});
}

TEST(PowerReadings, EnergyInJoulesIsTakenAsSuch) {
  for (const char* name :
       {"DCGM_FI_DEV_BOARD_ENERGY_JOULES", "DCGM_FI_DEV_ENERGY_CONSUMPTION_JOULES_TOTAL", "nvidia_smi_energy_joules_total"}) {
    PowerBook b;
    EXPECT_TRUE(take(b, {{"__name__", name}, {"UUID", "GPU-aaaa"}, {"Hostname", "n1"}}, {1000.5, 8500.5})) << name;
    const PowerReadings r = b.finish();
    EXPECT_EQ(r.tracks.at(0).points.at(0).energy_mj, 1'000'500) << name;
    EXPECT_EQ(r.tracks.at(0).points.at(1).energy_mj, 8'500'500) << name;
  }
  PowerBook b;
  for (const char* other : {"DCGM_FI_DEV_CPU_ENERGY_JOULES", "DCGM_FI_DEV_MODULE_ENERGY_JOULES", "DCGM_FI_DEV_POWER_VIOLATION"})
    EXPECT_FALSE(take(b, {{"__name__", other}, {"UUID", "GPU-aaaa"}}, {1, 2})) << other;
}

TEST(PowerReadings, AGpuInSlicesIsReadOnceByItsSlices) {
  PowerBook b;
  for (const char* slice : {"3", "4", "5"})
    EXPECT_TRUE(take(
        b, {{"__name__", "DCGM_FI_DEV_POWER_USAGE"}, {"UUID", "GPU-aaaa"}, {"gpu", "0"}, {"Hostname", "n1"}, {"GPU_I_ID", slice}},
        {500, 510}));
  const PowerReadings r = b.finish();
  ASSERT_EQ(r.tracks.size(), 1u);
  ASSERT_EQ(r.tracks[0].points.size(), 2u);
  EXPECT_DOUBLE_EQ(r.tracks[0].points[1].power_w, 510);
}

TEST(PowerReadings, PowerOfOneMomentCountsWhereNobodySaysTheMean) {
  PowerBook b;
  for (const char* gpu : {"GPU-aaaa", "GPU-bbbb"})
    EXPECT_TRUE(take(b, {{"__name__", "DCGM_FI_DEV_POWER_USAGE_INSTANT"}, {"UUID", gpu}, {"Hostname", "n1"}}, {900, 900}));
  EXPECT_TRUE(take(b, {{"__name__", "DCGM_FI_DEV_POWER_USAGE"}, {"UUID", "GPU-aaaa"}, {"Hostname", "n1"}}, {600}));
  const PowerReadings r = b.finish();
  ASSERT_EQ(r.tracks.size(), 2u);
  EXPECT_EQ(r.tracks[0].points.size(), 1u);
  EXPECT_DOUBLE_EQ(r.tracks[0].points[0].power_w, 600);
  EXPECT_EQ(r.tracks[1].points.size(), 2u);
}

TEST(PowerReadings, OneGpuUnderTwoNamesOfItsNodeIsOne) {
  PowerBook b;
  EXPECT_TRUE(take(b, {{"__name__", "DCGM_FI_DEV_POWER_USAGE"}, {"UUID", "GPU-aaaa"}, {"Hostname", "n1.site.org"}}, {500, 500}));
  ASSERT_TRUE(b.take_csv("timestamp,uuid,index,power.draw\n2026-11-01 00:00:15,GPU-aaaa,0,500\n", "p.csv", "N1", {}));
  EXPECT_TRUE(
      take(b, {{"__name__", "DCGM_FI_DEV_POWER_USAGE"}, {"UUID", "GPU-aaaa"}, {"Hostname", "dcgm-exporter-x7k2p"}}, {500, 500}));
  const PowerReadings r = b.finish();
  ASSERT_EQ(r.tracks.size(), 1u);
  EXPECT_EQ(r.tracks[0].points.size(), 2u);
  EXPECT_EQ(r.tracks[0].node, "dcgm-exporter-x7k2p");
  EXPECT_EQ(r.tracks[0].other_nodes, std::vector<std::string>{"N1"});
}

TEST(PowerReadings, OfTwoSourcesOfOneGpuTheFullerCountsForWhatItSays) {
  PowerBook b;
  // A counter that lags behind what the recorder reads would seem to run backwards.
  std::string rows = "timestamp_utc,node,gpu,uuid,power_w,energy_mj\n";
  for (int s = 0; s < 60; s += 5) rows += fmt::format("{},n1,0,GPU-aaaa,,{}\n", 1'793'491'200 + s, 1'000'000 + s * 500'000);
  ASSERT_TRUE(b.take_csv(rows, "p.csv", "", {}));
  EXPECT_TRUE(take(b, {{"__name__", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"}, {"UUID", "GPU-aaaa"}, {"Hostname", "n1"}},
                   {900'000, 8'000'000, 15'000'000, 22'000'000}));
  EXPECT_TRUE(take(b, {{"__name__", "DCGM_FI_DEV_POWER_USAGE"}, {"UUID", "GPU-aaaa"}, {"Hostname", "n1"}}, {500, 500, 500, 500}));
  const PowerReadings r = b.finish();
  ASSERT_EQ(r.tracks.size(), 1u);
  std::int64_t last = -1;
  std::size_t counted = 0, sampled = 0;
  for (const PowerPoint& p : r.tracks[0].points) {
    sampled += p.power_w >= 0 ? 1u : 0u;
    if (p.energy_mj < 0) continue;
    EXPECT_GT(p.energy_mj, last);
    last = p.energy_mj;
    ++counted;
  }
  EXPECT_EQ(counted, 12u);
  EXPECT_EQ(sampled, 4u);  // of which the recorder said nothing
}

TEST(PowerReadings, AnIndexIsTheGpuThatHasIt) {
  PowerBook b;
  ASSERT_TRUE(
      b.take_csv("timestamp,index,power.draw\n2026-11-01 00:00:15,0,500\n2026-11-01 00:00:20,0,500\n", "p.csv", "n1", {}));
  EXPECT_TRUE(
      take(b, {{"__name__", "DCGM_FI_DEV_POWER_USAGE"}, {"UUID", "GPU-aaaa"}, {"gpu", "0"}, {"Hostname", "n1"}}, {500, 500}));
  const PowerReadings r = b.finish();
  ASSERT_EQ(r.tracks.size(), 1u);
  EXPECT_EQ(r.tracks[0].gpu, "GPU-aaaa");
}

TEST(PowerReadings, UnitsAreRead) {
  const auto watts = [](const std::string& header, const std::string& cell) {
    PowerBook b;
    const auto ok = b.take_csv("timestamp,uuid," + header + "\n2026-11-01 00:00:00,GPU-aaaa," + cell + "\n", "p.csv", "n", {});
    if (!ok) return -1.0;
    const PowerPoint p = b.finish().tracks.at(0).points.at(0);
    return p.energy_mj >= 0 ? static_cast<double>(p.energy_mj) : p.power_w;
  };
  EXPECT_DOUBLE_EQ(watts("power.draw [W]", "693.12 W"), 693.12);
  EXPECT_DOUBLE_EQ(watts("power.draw [W]", "0.69 kW"), 690);
  EXPECT_DOUBLE_EQ(watts("power.draw [mW]", "693120"), 693.12);
  EXPECT_DOUBLE_EQ(watts("power_mw", "693120"), 693.12);
  EXPECT_DOUBLE_EQ(watts("power_w", "693120 mW"), 693.12);
  EXPECT_DOUBLE_EQ(watts("energy_mj", "7000"), 7000);
  EXPECT_DOUBLE_EQ(watts("energy_j", "7"), 7000);
  EXPECT_DOUBLE_EQ(watts("total_energy_consumption [J]", "7"), 7000);
  EXPECT_EQ(watts("power.draw [hp]", "1"), -1);
  EXPECT_EQ(watts("power_w", "500 VA"), -1);
}

TEST(PowerReadings, WhatWindowsWritesIsReadOrNamed) {
  PowerBook b;
  EXPECT_TRUE(
      b.take_csv("\xef\xbb\xbftimestamp,uuid,power.draw [W]\r\n2026-11-01 00:00:00,GPU-aaaa,600 W\r\n", "p.csv", "n", {}));
  const auto wide = b.take_csv(std::string_view("\xff\xfet\0i\0", 6), "p.csv", "n", {});
  ASSERT_FALSE(wide.has_value());
  EXPECT_NE(wide.error().what.find("UTF-16"), std::string::npos);
}

}  // namespace
}  // namespace muster
