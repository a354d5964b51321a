#include "ingest/amd_smi.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::string_view kMetric =
    R"([{"gpu": 3, "usage": {"gfx_activity": {"value": 97, "unit": "%"}}, "power": {"socket_power": {"value": 741,
 "unit": "W"}}, "clock": {"gfx_0": {"clk": {"value": 2100, "unit": "MHz"}}},
 "temperature": {"edge": "N/A", "hotspot": {"value": 63, "unit": "C"},
 "mem": {"value": 51, "unit": "C"}}, "pcie": {"width": 16, "speed": {"value": 32, "unit": "GT/s"}, "replay_count": 2,
 "l0_to_recovery_count": 1, "nak_sent_count": "N/A"}, "ecc": {"total_correctable_count": 5, "total_uncorrectable_count": 0,
 "total_deferred_count": 1, "cache_correctable_count": "N/A"}, "ecc_blocks": "N/A", "mem_usage": {"total_vram": {"value": 196592,
 "unit": "MB"}, "used_vram": {"value": 283, "unit": "MB"}}}])";

TEST(AmdSmi, reads_metrics_of_both_generations) {
  const auto metric = [](const std::string& text) {
    const auto r = parse_amd_smi(text);
    EXPECT_TRUE(r) << (r ? "" : r.error().what);
    return r ? *r : AmdSmi{};
  };
  for (const std::string& text : {std::string(kMetric), "{\"gpu_data\": " + std::string(kMetric) + "}"}) {
    const AmdSmi smi = metric(text);
    ASSERT_EQ(smi.gpus.size(), 1u);
    const AmdGpu& g = smi.gpus[0];
    EXPECT_EQ(g.gpu, 3);
    EXPECT_EQ(g.gfx_pct, 97);
    EXPECT_EQ(g.power_w, 741);
    EXPECT_EQ(g.gfx_mhz, 2100);
    EXPECT_FALSE(g.edge_c);
    EXPECT_EQ(g.hotspot_c, 63);
    EXPECT_EQ(g.memory_c, 51);
    EXPECT_EQ(g.pcie_width, 16);
    EXPECT_EQ(g.pcie_gts, 32);
    EXPECT_EQ(g.pcie_replays, 2);
    EXPECT_EQ(g.corrected, 5);
    EXPECT_EQ(g.uncorrected, 0);
    EXPECT_EQ(g.deferred, 1);
    EXPECT_EQ(g.memory_total_mb, 196592);
    EXPECT_EQ(smi.not_understood, 0u);
  }
  EXPECT_EQ(metric(R"([{"gpu":0,"power":{"average_socket_power":"90 W"},"clock":{"GFX_0":{"clk":7}}}])").gpus.at(0).power_w, 90);
  EXPECT_EQ(metric(R"([{"gpu":0,"power":{"socket_power":"N/A","average_socket_power":90},"clock":{"GFX_0":{"clk":7}}}])")
                .gpus.at(0)
                .gfx_mhz,
            7);
}

TEST(AmdSmi, reads_what_does_not_change) {
  const auto r = parse_amd_smi(
      R"([{"gpu":0,"asic":{"market_name":"AMD Instinct MI300X","asic_serial":"0xA1"},"bus":{"bdf":"0000:05:00.0",
 "max_pcie_width":16,"max_pcie_speed":{"value":32,"unit":"GT/s"}},"driver":{"name":"amdgpu","version":"6.10.5"},
 "limit":{"max_power":{"value":750,
 "unit":"W"},"slowdown_hotspot_temperature":{"value":100,"unit":"C"}}}])");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->gpus.at(0).name, "AMD Instinct MI300X");
  EXPECT_EQ(r->gpus[0].bdf, "0000:05:00.0");
  EXPECT_EQ(r->gpus[0].driver, "6.10.5");
  EXPECT_EQ(r->gpus[0].power_limit_w, 750);
  EXPECT_EQ(r->gpus[0].slowdown_hotspot_c, 100);
}

TEST(AmdSmi, counts_bad_pages) {
  const auto r = parse_amd_smi(
      R"([{"gpu":0,"retired":"No bad pages found.","pending":[{"page_address":"0x1","status":"PENDING"}],"un_res":"N/A"}])");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->gpus.at(0).pages_retired, 0);
  EXPECT_EQ(r->gpus[0].pages_pending, 1);
  EXPECT_FALSE(r->gpus[0].pages_unreservable);
}

TEST(AmdSmi, refuses_and_counts) {
  for (const char* bad : {"", "{}", "7", "{\"gpu_data\": 7}", "[{]"}) EXPECT_FALSE(parse_amd_smi(bad)) << bad;
  const auto odd =
      parse_amd_smi(R"([{"gpu":"x"},{"gpu":1,"temperature":{"hotspot":"warm"},"asic":{"market_name":7},"retired":7}, 5])");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->gpus.size(), 1u);
  EXPECT_EQ(odd->not_understood, 5u);
  std::string many = "[";
  for (int i = 0; i < 100; ++i) many += (i > 0 ? ",{\"gpu\":" : "{\"gpu\":") + std::to_string(i) + "}";
  const auto cut = parse_amd_smi(many + "]");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->gpus.size(), kAmdGpusMax);
  EXPECT_EQ(cut->left_out, 100 - kAmdGpusMax);
}

}  // namespace
}  // namespace muster
