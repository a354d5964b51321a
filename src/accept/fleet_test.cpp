#include "accept/fleet.h"

#include <gtest/gtest.h>

#include "accept/compare.h"
#include "accept/plan.h"
#include "accept/sample.h"

namespace muster::accept {
namespace {

std::vector<Acceptance> nodes(std::uint32_t count) {
  std::vector<Acceptance> out;
  for (std::uint32_t i = 1; i <= count; ++i) out.push_back(sample_node(i, 8, 0));
  return out;
}

TEST(Fleet, EachGpuKnowsWhereItStands) {
  std::vector<Acceptance> all = nodes(8);
  for (accepting::Measured& m : all[2].measured) {
    if (m.gpu == 4 && m.metric == "hbm_read") m.value = 4500;
    if (m.gpu == 5 && m.metric == "hbm_read") m.value = 4780;
  }
  const Fleet f = fleet_of(figures_of(all), Limits(all));
  ASSERT_EQ(f.kinds.size(), 1U);
  ASSERT_EQ(f.kinds[0].gpus.size(), 64U);
  EXPECT_EQ(f.pass, 7U);
  EXPECT_EQ(f.degraded, 1U);
  for (const FleetGpu& g : f.kinds[0].gpus) {
    for (const Standing& s : g.standings) {
      EXPECT_GE(s.percentile, 0);
      EXPECT_LE(s.percentile, 100);
      if (s.metric != "hbm_read" || g.node != 2) continue;
      if (g.gpu == 4) {
        EXPECT_LT(s.percentile, 1);
      } else if (g.gpu == 5) {
        EXPECT_GT(s.percentile, 99);
      }
    }
  }
}

TEST(Fleet, OfWhatShouldBeLowTheLowestStandsHighest) {
  std::vector<Acceptance> all = nodes(4);
  for (accepting::Measured& m : all[0].measured) {
    if (m.gpu == 0 && m.metric == "sweep_fp64") m.value = 1.5;
  }
  const Fleet f = fleet_of(figures_of(all), Limits(all));
  for (const Standing& s : f.kinds[0].gpus[0].standings) {
    if (s.metric != "sweep_fp64") continue;
    EXPECT_LT(s.percentile, 3);
  }
}

TEST(Plan, QuickIsShortAndAcceptWithinItsTime) {
  EXPECT_LE(seconds_of(plan_of(AcceptProfile::quick)), 42);
  EXPECT_LE(seconds_of(plan_of(AcceptProfile::accept)), 520);
  EXPECT_NE(suite_hash(AcceptProfile::quick), suite_hash(AcceptProfile::accept));
  EXPECT_EQ(plan_of(AcceptProfile::quick).front().test, AcceptTest::inventory);
  EXPECT_EQ(plan_of(AcceptProfile::quick).back().test, AcceptTest::counters);
}

TEST(Compare, ARealDifferenceIsKnownAndNoneIsNot) {
  const auto a = nodes(4);
  auto b = nodes(4);
  for (Acceptance& r : b) {
    for (accepting::Measured& m : r.measured) {
      if (m.metric == "hbm_read") m.value *= 1.6;
    }
  }
  GpuModel h200;
  h200.name = "h200";
  h200.bf16_tflops = 989.4;
  h200.hbm_gb = 141;
  h200.hbm_tb_s = 4.8;
  const Comparison c = compare({"H200", a, &h200, 2}, {"other", b, &h200, 4});
  bool read = false, write = false;
  for (const Compared& row : c.rows) {
    if (row.metric == "hbm_read") {
      read = true;
      EXPECT_NEAR(row.ratio, 1.6, 0.01);
      EXPECT_TRUE(row.known);
      EXPECT_NEAR(row.per_dollar.value_or(0), 0.8, 0.01);
      EXPECT_NEAR(row.per_watt.value_or(0), 1.6, 0.01);
      EXPECT_NEAR(row.peak_a.value_or(0), 4693.0 / 4800, 0.005);
      EXPECT_LT(row.low, row.ratio);
      EXPECT_GT(row.high, row.ratio);
    }
    if (row.metric == "hbm_write") {
      write = true;
      EXPECT_FALSE(row.known) << row.low << " " << row.high;
    }
  }
  EXPECT_TRUE(read && write);
}

TEST(Compare, FewCardsSaySo) {
  const std::vector<Acceptance> one{sample_node(1, 1, 0)};
  const Comparison c = compare({"A", one, nullptr, 0}, {"B", one, nullptr, 0});
  EXPECT_FALSE(c.rows.empty());
  EXPECT_GE(c.notes.size(), 2U);
  for (const Compared& row : c.rows) EXPECT_FALSE(row.known) << row.metric;
}

TEST(Compare, TrainingStepsFollowTheMeasuredRates) {
  const auto a = nodes(1);
  auto b = nodes(1);
  for (Acceptance& r : b) {
    for (accepting::Measured& m : r.measured) {
      if (m.metric == "sustained_bf16") m.value *= 1.3;
    }
  }
  GpuModel h200;
  h200.name = "h200";
  h200.bf16_tflops = 989.4;
  h200.hbm_gb = 141;
  h200.hbm_tb_s = 4.8;
  h200.nvlink_gb_s = 450;
  h200.nic_gb_s = 50;
  h200.sms = 132;
  Transformer t;
  t.name = "llama3-8b";
  t.layers = 32;
  t.hidden = 4096;
  t.heads = 32;
  t.kv_heads = 8;
  t.head_dim = 128;
  t.ffn = 14336;
  t.gated = true;
  t.vocab = 128256;
  const Comparison c = compare({"A", a, &h200, 0}, {"B", b, &h200, 0}, std::span(&t, 1));
  ASSERT_EQ(c.steps.size(), 1U);
  EXPECT_GT(c.steps[0].a_s, 0.5);
  EXPECT_GT(c.steps[0].a_s / c.steps[0].b_s, 1.1);
  EXPECT_LT(c.steps[0].a_s / c.steps[0].b_s, 1.3);
}

}  // namespace
}  // namespace muster::accept
