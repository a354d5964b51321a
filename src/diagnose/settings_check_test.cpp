#include "diagnose/settings_check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::diagnose {
namespace {

class SettingsCheck : public testing::Test {
 protected:
  SettingsCheck() {
    gpu = {.name = "g",
           .bf16_tflops = 989.4,
           .fp8_tflops = 1978.9,
           .hbm_gb = 80,
           .hbm_tb_s = 3.35,
           .nvlink_gb_s = 450,
           .sms = 132,
           .nic_gb_s = 50};
    model = {.name = "m",
             .layers = 32,
             .hidden = 4096,
             .heads = 32,
             .kv_heads = 8,
             .head_dim = 128,
             .ffn = 14336,
             .gated = true,
             .vocab = 128256};
    plan = {.gpus = 64,
            .tp = 2,
            .dp = 32,
            .micro_batch = 1,
            .global_batch = 128,
            .seq = 8192,
            .shard = Shard::optimizer,
            .sequence_parallel = true};
    settings.framework = "Megatron";
  }
  std::vector<Finding> found() const { return check_settings({settings, model, plan, gpu, calibration, {8, 50}, 0, 0}); }
  // The finding whose remedy has these words; nullptr: there is none.
  const Finding* with(const std::vector<Finding>& all, std::string_view remedy) const {
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.remedy.find(remedy) != std::string::npos; });
    return it == all.end() ? nullptr : &*it;
  }

  GpuModel gpu;
  Transformer model;
  TrainingPlan plan;
  Calibration calibration;
  CommSettings settings;
};

TEST_F(SettingsCheck, WhatIsNotToldIsNotFound) {
  for (const Finding& f : found()) EXPECT_EQ(f.remedy.find("overlap"), std::string::npos) << f.title;
}

TEST_F(SettingsCheck, ExchangesAmongReplicasThatAreNotHidden) {
  settings.overlap_grad_reduce = settings.overlap_param_gather = false;
  const auto all = found();
  const Finding* gradients = with(all, "--overlap-grad-reduce");
  const Finding* weights = with(all, "--overlap-param-gather");
  ASSERT_TRUE(gradients != nullptr && weights != nullptr);
  ASSERT_TRUE(gradients->gain);
  EXPECT_LT(gradients->gain->low_pct, gradients->gain->high_pct);
  EXPECT_GT(gradients->gain->high_pct, 0.5);
  EXPECT_LT(gradients->gain->high_pct, 60);
  EXPECT_FALSE(gradients->evidence.empty());
  settings.overlap_grad_reduce = true;
  EXPECT_EQ(with(found(), "--overlap-grad-reduce ("), nullptr);
  settings.overlap_grad_reduce = false;
  plan.dp = 1;
  plan.gpus = 2;
  EXPECT_EQ(with(found(), "--overlap-grad-reduce"), nullptr) << "one replica has nothing to exchange";
}

TEST_F(SettingsCheck, DeepSpeedsWordsForIt) {
  settings.framework = "DeepSpeed";
  settings.zero_stage = 1;
  settings.overlap_grad_reduce = false;
  EXPECT_NE(with(found(), "\"overlap_comm\": true"), nullptr);
}

TEST_F(SettingsCheck, GradientsAfterEachMicroBatch) {
  settings.zero_stage = 2;
  settings.overlap_grad_reduce = false;
  plan.shard = Shard::gradients;
  gpu.hbm_gb = 141;
  const auto all = found();
  const Finding* f = with(all, "\"stage\": 1");
  ASSERT_NE(f, nullptr);
  EXPECT_GT(f->gain->high_pct, 1);
}

TEST_F(SettingsCheck, RecomputationThatThereIsMemoryToSpare) {
  plan.recompute = Recompute::full;
  gpu.hbm_gb = 288;
  const auto all = found();
  const Finding* f = with(all, "without --recompute-granularity");
  ASSERT_NE(f, nullptr);
  EXPECT_GT(f->gain->low_pct, 10);
  EXPECT_LT(f->gain->high_pct, 40);
  gpu.hbm_gb = 20;
  EXPECT_EQ(with(found(), "--recompute-granularity"), nullptr) << "it does not fit";
}

TEST_F(SettingsCheck, WholeLayersAreComputedAgainThoughThereIsMemoryWithTensorRanksInPieces) {
  plan.recompute = Recompute::full;
  plan.sequence_parallel = false;
  model.layers = 80;
  model.hidden = 8192;
  model.heads = 64;
  model.ffn = 28672;
  plan.tp = 8;
  plan.pp = 2;
  plan.dp = 4;
  plan.seq = 4096;
  plan.global_batch = 512;
  const auto all = found();
  const Finding* f = with(all, "--recompute-granularity, with --sequence-parallel");
  ASSERT_NE(f, nullptr) << "76 GB of 80 without, 57 with";
  EXPECT_GT(f->gain->low_pct, 10);
}

TEST_F(SettingsCheck, WhatFitsByThePredictionAloneIsToldWithWhatTheLogHas) {
  settings.framework = "torchtitan";
  plan = {.gpus = 8, .tp = 1, .dp = 8, .micro_batch = 1, .global_batch = 8, .seq = 8192, .shard = Shard::weights};
  plan.recompute = Recompute::full;
  const auto all = check_settings({settings, model, plan, gpu, calibration, {8, 50}, 0, 64});  // 37 GB are predicted
  const Finding* f = with(all, "mode = \"selective\"");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->confidence, Confidence::low);
  EXPECT_NE(f->evidence[1].find("the log has 64"), std::string::npos) << f->evidence[1];
  const auto roomy = check_settings({settings, model, plan, gpu, calibration, {8, 50}, 0, 37});
  ASSERT_NE(with(roomy, "mode = \"none\""), nullptr);
  EXPECT_EQ(with(roomy, "mode = \"none\"")->confidence, Confidence::medium);
}

TEST_F(SettingsCheck, TheMemoryThatARunUsesBoundsWhatItIsToldToKeep) {
  settings.framework = "torchtitan";
  plan = {.gpus = 8, .tp = 1, .dp = 8, .micro_batch = 1, .global_batch = 8, .seq = 8192, .shard = Shard::weights};
  plan.recompute = Recompute::selective;
  const auto full = check_settings({settings, model, plan, gpu, calibration, {8, 50}, 0, 70});
  EXPECT_EQ(with(full, "mode = \"none\""), nullptr) << "70 GB of 80 are used with half of all products computed again";
  gpu.hbm_gb = 141;
  const auto roomy = check_settings({settings, model, plan, gpu, calibration, {8, 50}, 0, 70});
  const Finding* f = with(roomy, "mode = \"none\"");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->confidence, Confidence::low);
  EXPECT_NE(f->evidence[1].find("the log has 70 GB"), std::string::npos) << f->evidence[1];
}

TEST_F(SettingsCheck, SwitchesAreJudgedWhereNothingCanBePredicted) {
  settings.framework = "DeepSpeed";
  settings.zero_stage = 3;
  settings.overlap_grad_reduce = settings.contiguous_gradients = false;
  settings.reduce_bucket = 500'000;
  settings.wall_clock_breakdown = true;
  const auto all = check_switches(settings, 0);
  for (const char* remedy : {"\"overlap_comm\": true", "\"reduce_bucket_size\"", "\"contiguous_gradients\": true",
                             "\"wall_clock_breakdown\": false"}) {
    const Finding* f = with(all, remedy);
    ASSERT_NE(f, nullptr) << remedy;
    EXPECT_FALSE(f->gain) << "nothing tells how much";
  }
  EXPECT_EQ(with(check_switches(settings, 1), "overlap_comm"), nullptr) << "one GPU has nothing to exchange";
  EXPECT_TRUE(check_switches({}, 8).empty()) << "what is not told is not found";
}

TEST_F(SettingsCheck, WeightsInPiecesThatAreNotOverlappedAreSaidWithoutAGain) {
  settings.framework = "DeepSpeed";
  settings.zero_stage = 3;
  settings.overlap_grad_reduce = false;
  plan.shard = Shard::weights;
  const auto all = found();
  const Finding* f = with(all, "\"overlap_comm\": true");
  ASSERT_NE(f, nullptr);
  EXPECT_FALSE(f->gain);
}

TEST_F(SettingsCheck, StagesThatAreNotInterleaved) {
  plan.tp = 2;
  plan.pp = 4;
  plan.dp = 8;
  plan.global_batch = 64;
  const auto all = found();
  const Finding* f = with(all, "--num-layers-per-virtual-pipeline-stage");
  ASSERT_NE(f, nullptr);
  EXPECT_GT(f->gain->high_pct, 3);
}

TEST_F(SettingsCheck, WeightsInPiecesThatFitWhole) {
  settings.framework = "torchtitan";
  settings.reshard_after_forward = true;
  plan.tp = 1;
  plan.dp = 64;
  plan.shard = Shard::weights;
  gpu.hbm_gb = 192;
  EXPECT_NE(with(found(), "fsdp_reshard_after_forward = \"never\""), nullptr);
}

TEST_F(SettingsCheck, SmallBuckets) {
  settings.reduce_bucket = 100'000;
  const auto all = found();
  const Finding* f = with(all, "--ddp-bucket-size");
  ASSERT_NE(f, nullptr);
  EXPECT_GT(f->gain->high_pct, 0.5);
  settings.reduce_bucket = 200'000'000;
  EXPECT_EQ(with(found(), "--ddp-bucket-size"), nullptr);
}

TEST_F(SettingsCheck, AttentionThatIsNotFused) {
  settings.fused_attention = false;
  calibration.attention = 0;
  calibration.score_passes = 6;
  const auto all = found();
  const Finding* f = with(all, "flash");
  ASSERT_NE(f, nullptr);
  EXPECT_GT(f->gain->low_pct, 10);
}

TEST_F(SettingsCheck, TheLargestComesFirst) {
  settings.overlap_grad_reduce = settings.overlap_param_gather = settings.grad_accumulation_fusion =
      settings.cross_entropy_fusion = false;
  settings.timing_level = 2;
  const auto all = found();
  ASSERT_GE(all.size(), 3U);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i - 1].cost_pct, all[i].cost_pct);
  EXPECT_NE(with(all, "--timing-log-level 0"), nullptr);
}

}  // namespace
}  // namespace muster::diagnose
