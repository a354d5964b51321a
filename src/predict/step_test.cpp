#include "predict/step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/math.h"
#include "predict/calibrate.h"
#include "predict/fit.h"
#include "predict/kernels.h"

namespace muster::predict {
namespace {

GpuModel h100() {
  GpuModel g;
  g.name = "h100";
  g.bf16_tflops = 989.4;
  g.fp8_tflops = 1978.9;
  g.hbm_gb = 80;
  g.hbm_tb_s = 3.35;
  g.nvlink_gb_s = 450;
  g.sms = 132;
  g.nic_gb_s = 50;
  return g;
}

Transformer llama70b() {
  Transformer m;
  m.name = "llama3-70b";
  m.layers = 80;
  m.hidden = 8192;
  m.heads = 64;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.ffn = 28672;
  m.gated = true;
  m.vocab = 128256;
  return m;
}

TrainingPlan plan() {
  TrainingPlan p;
  p.gpus = 64;
  p.tp = 4;
  p.pp = 4;
  p.dp = 4;
  p.vp = 5;
  p.micro_batch = 1;
  p.global_batch = 128;
  p.seq = 8192;
  p.sequence_parallel = true;
  p.shard = Shard::optimizer;
  return p;
}

class Stepping : public ::testing::Test {
 protected:
  StepTime time(const TrainingPlan& p) const { return step_time(gpu, calibration, {8, gpu.nic_gb_s}, model, p); }

  GpuModel gpu = h100();
  Transformer model = llama70b();
  Calibration calibration;
};

TEST(Kernels, NoneIsFasterThanTheDataSheet) {
  const GpuModel g = h100();
  Calibration c;
  c.gemm = c.hbm = 1;
  c.gemm_k_half = 0;
  const Engine e{&g, &c, Dtype::bf16};
  for (const double m : {1.0, 100.0, 127.0, 128.0, 4096.0}) {
    for (const double n : {64.0, 257.0, 8192.0}) {
      for (const double k : {64.0, 8192.0}) {
        const Gemm x{m, n, k};
        EXPECT_GE(gemm_s(e, x), x.flops() / e.peak()) << m << " " << n << " " << k;
        EXPECT_GE(gemm_s(e, x), 2 * (m * k + k * n + m * n) / (g.hbm_tb_s * 1e12) * (1 - 1e-12)) << m << " " << n << " " << k;
      }
    }
  }
}

TEST(Kernels, TheLastWaveTakesAsLongAsAFullOne) {
  const GpuModel g = h100();
  const Calibration c;
  const Engine e{&g, &c, Dtype::bf16};
  const double full = gemm_s(e, {128 * 132, 4096, 8192});
  EXPECT_DOUBLE_EQ(gemm_s(e, {128 * 131 + 1, 4096, 8192}), full) << "a row of tiles that is nearly empty costs as much";
  EXPECT_GT(gemm_s(e, {128 * 132 + 1, 4096, 8192}), full) << "and so does one more";
}

TEST_F(Stepping, NeverBeatsThePeak) {
  const TrainingPlan p = plan();
  const double flops = p.tokens() * model.flops_per_token(p.seq) / p.gpus;
  EXPECT_GT(time(p).all_s(), flops / gpu.peak(Dtype::bf16));
  EXPECT_LT(time(p).all_s(), 4 * flops / gpu.peak(Dtype::bf16)) << "nor is it absurd";
}

TEST_F(Stepping, PartsBehaveAsTheyShould) {
  TrainingPlan p = plan();
  const StepTime t = time(p);
  p.vp = 1;
  EXPECT_NEAR(time(p).bubble_s / t.bubble_s, 5, 0.01) << "interleaving divides the bubble";
  p = plan();
  p.recompute = Recompute::full;
  EXPECT_NEAR(time(p).compute_s / t.compute_s, 4.0 / 3, 0.05) << "a forward pass more";
  p = plan();
  p.global_batch *= 2;
  EXPECT_NEAR(time(p).compute_s / t.compute_s, 2, 1e-9);
  EXPECT_DOUBLE_EQ(time(p).bubble_s, t.bubble_s);
  EXPECT_DOUBLE_EQ(time(p).data_s, t.data_s) << "gradients are summed once a step";
  p = plan();
  p.tp = 1;
  p.dp = 16;
  EXPECT_EQ(time(p).tensor_s, 0);
  p = plan();
  p.dtype = Dtype::fp8;
  EXPECT_LT(time(p).compute_s, t.compute_s);
}

TEST_F(Stepping, GradientsOfWeightsThatArePutOffFillTheBubble) {
  TrainingPlan p = plan();
  p.vp = 1;
  const StepTime usual = time(p);
  p.zero_bubble = true;
  const StepTime t = time(p);
  // Were a third of it gradients of weights, a third would be left (Qi 2023, table 2); attention, norms and exchanges have none.
  EXPECT_GT(t.bubble_s / usual.bubble_s, 1.0 / 3);
  EXPECT_LT(t.bubble_s / usual.bubble_s, 0.6);
  EXPECT_DOUBLE_EQ(t.compute_s, usual.compute_s);
}

TEST_F(Stepping, TheLongestStageIsWaitedFor) {
  TrainingPlan p = plan();
  p.vp = 1;
  const double even = time(p).compute_s;
  model.layers += 1;  // one stage has one more
  EXPECT_NEAR(time(p).compute_s / even, (80.0 / p.pp + 1) / (80.0 / p.pp), 1e-6);
}

TEST_F(Stepping, ANetworkOfHalfTheRateShowsWhereItIsUsed) {
  TrainingPlan p = plan();
  p.pp = 1;
  p.vp = 1;
  p.dp = 16;
  const StepTime fast = step_time(gpu, calibration, {8, 50}, model, p), slow = step_time(gpu, calibration, {8, 25}, model, p);
  EXPECT_GT(slow.data_s, 1.5 * fast.data_s);
  EXPECT_DOUBLE_EQ(slow.compute_s, fast.compute_s);
  EXPECT_DOUBLE_EQ(slow.tensor_s, fast.tensor_s) << "tensor ranks talk over NVLink";
}

TEST(Fit, FindsTheParametersThatMadeTheData) {
  Calibration truth;
  truth.gemm = 0.61;
  truth.dp_exposed = 0.4;
  const GpuModel gpu = h100();
  const Transformer model = llama70b();
  std::vector<TrainingPlan> plans;
  for (const std::uint32_t dp : {4U, 8U, 16U}) {
    for (const std::uint32_t batch : {64U, 128U, 512U}) {
      TrainingPlan p = plan();
      p.dp = dp;
      p.gpus = 16 * dp;
      p.global_batch = batch;
      plans.push_back(p);
    }
  }
  const auto loss = [&](const Calibration& c) {
    double sum = 0;
    for (const TrainingPlan& p : plans) {
      const Network n{8, 50};
      sum += std::abs(det_log(step_time(gpu, c, n, model, p).all_s() / step_time(gpu, truth, n, model, p).all_s()));
    }
    return sum / static_cast<double>(plans.size());
  };
  const Calibration found = fit({.start = {}, .free = {"gemm", "dp_exposed"}, .loss = loss});
  EXPECT_NEAR(found.gemm, 0.61, 0.005);
  EXPECT_NEAR(found.dp_exposed, 0.4, 0.05);
  EXPECT_LT(loss(found), 0.002);
}

TEST(Calibrate, AReleaseHasARateOfItsOwnAndTheNearestIsTakenForOthers) {
  const std::vector<GpuModel> gpus = {h100()};
  std::vector<TrainingRow> rows;
  for (int i = 0; i < 24; ++i) {
    TrainingRow r;
    r.software = "x";
    r.release = i % 2 == 0 ? "1" : "2";
    r.gpu = "h100";
    r.nic_gb_s = 50;
    r.model = llama70b();
    r.plan = plan();
    r.plan.global_batch = 64 + 16 * static_cast<std::uint32_t>(i);
    r.group = std::to_string(i);
    Calibration truth;
    truth.gemm = r.release == "1" ? 0.5 : 0.6;
    r.step_s = step_time(gpus[0], truth, {8, 50}, r.model, r.plan).all_s();
    rows.push_back(std::move(r));
  }
  Software software;
  software.start.software = "x";
  software.free = {"gemm"};
  software.by_release = "gemm";
  const auto all = calibrate(rows, gpus, {&software, 1});
  ASSERT_EQ(all.size(), 3U) << "one for all, one for each release";
  double worst = 0;
  for (const TrainingRow& r : rows) {
    const auto p = predict_run(r, gpus, all);
    ASSERT_TRUE(p);
    EXPECT_TRUE(p->calibrated);
    EXPECT_LE(p->low_s, p->high_s);
    worst = std::max(worst, std::abs(p->step_s / r.step_s - 1));
  }
  EXPECT_LT(worst, 0.01) << "those that were kept back too";
  TrainingRow other = rows[0];
  other.software = "y";
  EXPECT_FALSE(predict_run(other, gpus, all)->calibrated);
  other.gpu = "b200";
  EXPECT_FALSE(predict_run(other, gpus, all));
}

TEST(Calibrate, APlanNobodyRanYetGetsTheNearestThereIs) {
  std::vector<Software> software(3);
  software[0].start.software = "dense";
  software[0].usual_for = UsualFor::dense;
  software[0].start.gemm = 0.61;
  software[1].start.software = "experts";
  software[1].usual_for = UsualFor::experts;
  software[2].start.software = "other";
  std::vector<Calibration> known(3);
  for (std::size_t i = 0; i < known.size(); ++i) {
    known[i].software = software[i].start.software;
    known[i].gpu = "h100";
    known[i].rows = 10 * static_cast<std::uint32_t>(i + 1);
  }
  const auto chosen = [&](const char* gpu, Dtype dtype, const char* name, bool experts) {
    GpuModel g = h100();
    g.name = gpu;
    if (g.name == "b200") g.bf16_tflops = 2250;
    const std::vector<GpuModel> gpus = {h100(), [] {
                                          GpuModel h200 = h100();
                                          h200.name = "h200";
                                          return h200;
                                        }()};
    return choose_calibration(known, software, gpus, g, dtype, name, experts);
  };
  known[2].dtype = Dtype::fp8;
  EXPECT_EQ(chosen("h100", Dtype::bf16, "", false)->calibration.software, "dense") << "though others have more rows";
  EXPECT_EQ(chosen("h100", Dtype::bf16, "", true)->calibration.software, "experts");
  EXPECT_EQ(chosen("h100", Dtype::bf16, "other", true)->calibration.software, "other");
  EXPECT_EQ(chosen("h100", Dtype::fp8, "", false)->calibration.software, "other") << "of this number format";
  const auto far = chosen("h100", Dtype::mxfp8, "", false);
  EXPECT_EQ(far->words, "calibrated on 10 measured runs of dense on h100 in bf16: extrapolated to another number format");
  EXPECT_NEAR(far->calibration.high, known[0].high * known[0].high, 1e-12) << "less sure";
  EXPECT_EQ(chosen("h100", Dtype::fp8, "", true)->calibration.software, "experts") << "whatever the number format";
  EXPECT_EQ(chosen("h200", Dtype::bf16, "", false)->words,
            "calibrated on 10 measured runs of dense on h100 in bf16: extrapolated to another GPU with the same chip");
  const auto extrapolated = chosen("b200", Dtype::bf16, "", false);
  EXPECT_EQ(extrapolated->words, "calibrated on 10 measured runs of dense on h100 in bf16: extrapolated to another GPU");
  EXPECT_NEAR(extrapolated->calibration.high, std::pow(known[0].high, 3), 1e-12) << "even less sure";
  EXPECT_EQ(chosen("b200", Dtype::bf16, "", true)->calibration.software, "experts");
  known.clear();
  const auto nothing = chosen("b200", Dtype::bf16, "", false);
  EXPECT_DOUBLE_EQ(nothing->calibration.gemm, 0.61);
  EXPECT_EQ(nothing->words, "no run on b200 was measured: extrapolated from what software usually gets");
  const auto none = chosen("h100", Dtype::bf16, "nemo", false);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().next, "there are dense, experts, other");
}

// A GPU of which one run is known, and a release of which one run is known, are taken to be as the others are.
TEST(Calibrate, OneRunThatDiffersChangesNothing) {
  GpuModel h200 = h100();
  h200.name = "h200";
  const std::vector<GpuModel> gpus = {h100(), h200};
  std::vector<TrainingRow> rows;
  for (int i = 0; i < 40; ++i) {
    TrainingRow r;
    r.software = "x";
    r.release = i == 1 ? "odd" : "1";
    r.gpu = i == 0 ? "h200" : "h100";
    r.nic_gb_s = 50;
    r.model = llama70b();
    r.plan = plan();
    r.plan.global_batch = 64 + 16 * static_cast<std::uint32_t>(i % 20);
    r.group = std::to_string(i);
    Calibration truth;
    truth.gemm = i < 2 ? 0.3 : 0.6;
    r.step_s = step_time(gpus[0], truth, {8, 50}, r.model, r.plan).all_s();
    rows.push_back(std::move(r));
  }
  for (int i = 0; i < 2; ++i) {
    while (!teaches(rows[static_cast<std::size_t>(i)])) rows[static_cast<std::size_t>(i)].group += "'";
  }
  Software software;
  software.start.software = "x";
  software.free = {"gemm"};
  software.by_release = "gemm";
  const auto all = calibrate(rows, gpus, {&software, 1});
  for (const Calibration& c : all) EXPECT_NEAR(c.gemm, 0.6, 0.02) << c.gpu << " " << c.release;
}

}  // namespace
}  // namespace muster::predict
