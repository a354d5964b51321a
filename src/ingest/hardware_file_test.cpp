#include "ingest/hardware_file.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster {
namespace {

TEST(Transformers, HaveAsManyParametersAsTheirNamesSay) {
  const std::pair<const char*, double> published[] = {
      {"gpt3-175b", 175e9},     {"llama2-70b", 69e9},     {"llama3-8b", 8.03e9},     {"llama3-70b", 70.6e9},
      {"llama3-405b", 405.9e9}, {"mixtral-8x7b", 46.7e9}, {"qwen3-30b-a3b", 30.5e9}, {"qwen3-235b-a22b", 235e9},
      {"deepseek-v3", 671e9},   {"gpt-oss-120b", 116.8e9}};
  for (const auto& [name, params] : published) {
    const Transformer* m = find_transformer(name);
    ASSERT_NE(m, nullptr) << name;
    EXPECT_NEAR(m->params() / params, 1, 0.015) << name << " " << m->params();
  }
  EXPECT_EQ(find_transformer("gpt-17"), nullptr);
}

TEST(Transformers, CountTheOperationsOfATokenAsNvidiaDoes) {
  // 2,083 TFLOP/s and 4,819 tokens/s a GPU are published for one and the same run.
  EXPECT_NEAR(find_transformer("llama3-70b")->flops_per_token(4096) / (2083e12 / 4819), 1, 0.01);
  EXPECT_NEAR(find_transformer("qwen3-30b-a3b")->flops_per_token(4096) / (936e12 / 40706), 1, 0.02);
}

TEST(HardwarePrices, KnowWhatGpusOfClustersThatShipAreRentedFor) {
  for (const char* name : {"h100", "h200", "gb200"}) {
    const auto rent = hardware_prices().rent.find(name);
    ASSERT_NE(rent, hardware_prices().rent.end()) << name;
    EXPECT_GT(rent->second.usd_per_h, 0.5) << name;
    EXPECT_LT(rent->second.usd_per_h, 20) << name;
    EXPECT_FALSE(rent->second.source.empty()) << name << ": a price without its source is a rumour";
  }
}

TEST(GpuModels, AreWhole) {
  for (const GpuModel& g : gpu_models()) {
    EXPECT_GT(g.peak(Dtype::bf16), 1e14) << g.name;
    EXPECT_GT(g.hbm_tb_s, 1) << g.name;
    EXPECT_GT(g.sms, 100U) << g.name;
    EXPECT_FALSE(g.source.empty()) << g.name;
    EXPECT_EQ(g.peak(Dtype::fp8), g.peak(Dtype::mxfp8));
  }
  EXPECT_EQ(find_gpu_model("a100")->peak(Dtype::fp8), 0) << "it has none";
}

TEST(GpuModels, AWrongNumberIsNamedWithItsLine) {
  const auto r = parse_gpu_models("name,bf16_tflops\nx,fast\n", "g.csv");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().what, "g.csv:2: bf16_tflops must be a number of 0 or more, is 'fast'");
}

}  // namespace
}  // namespace muster
