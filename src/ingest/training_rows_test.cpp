#include "ingest/training_rows.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Result<TrainingRows> read(std::string_view text) {
  const auto csv = parse_csv(text, "t.csv", false);
  return csv ? read_training_rows(*csv, "t.csv") : tl::unexpected(csv.error());
}

constexpr std::string_view kVtrain =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,"
    "pipeline parallelism,iteration time (ms),source\n";

TEST(TrainingRows, AMeasuredIterationIsRead) {
  const auto t = read(std::string(kVtrain) + "8,32,4,1024,16,24,1024,2,2,2,219.73,s\n");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->rows.size(), 1U);
  const TrainingRow& r = t->rows[0];
  EXPECT_EQ(r.gpu, "a100");
  EXPECT_EQ(r.model.layers, 24U);
  EXPECT_EQ(r.model.ffn, 4096U);
  EXPECT_EQ(r.plan.tp, 2U);
  EXPECT_EQ(r.plan.recompute, Recompute::full);
  EXPECT_DOUBLE_EQ(r.plan.micro_batches(), 4);
  EXPECT_DOUBLE_EQ(r.step_s, 0.21973);
}

TEST(TrainingRows, ARateBecomesTheTimeOfAStep) {
  const auto t = read(
      "model,system,gpus,precision,gbs,mbs,seq,fsdp,tp,pp,cp,vp,ep,ga,tokens_per_s_per_gpu,model_tflops_per_gpu,release,task\n"
      "LLAMA3_70B,DGX-GB300,64,MXFP8,256,1,8192,0,1,4,1,5,n/a,,4864,2186,26.04.01,Pre-Training Performance\n"
      "Qwen3_30B_a3B (tokendrop),DGX-H100,16,FP8-CS,512,2,4096,0,1,2,1,24,8,32,10494,241,25.09,Pre-Training Performance\n"
      "Nemotron_9,DGX-H100,16,FP8,512,2,4096,0,1,2,1,24,8,32,10494,241,25.09,Pre-Training Performance\n");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->rows.size(), 2U);
  EXPECT_EQ(t->rows[0].gpu, "gb300") << "not b300, which is in its name";
  EXPECT_EQ(t->rows[0].plan.dtype, Dtype::mxfp8);
  EXPECT_EQ(t->rows[0].plan.dp, 16U);
  EXPECT_NEAR(t->rows[0].step_s, 256.0 * 8192 / (4864.0 * 64), 1e-9);
  EXPECT_EQ(t->rows[1].software, "bridge-moe");
  EXPECT_EQ(t->rows[1].plan.ep, 8U);
  ASSERT_EQ(t->skipped.size(), 1U);
  EXPECT_EQ(t->skipped[0].row, 2U);
  EXPECT_EQ(t->skipped[0].why, "the model Nemotron_9 is not known");
}

TEST(TrainingRows, EarlyMegatron) {
  const auto sc21 = read(
      "params_b,heads,hidden,layers,seq,vocab,tp,pp,dp,gpus,global_batch,hw_tflops_per_gpu,iter_time_s_derived,gpu,recompute\n"
      "1.7,24,2304,24,2048,51200,1,1,32,32,512,137,3.528,A100-80G,full\n");
  ASSERT_TRUE(sc21) << sc21.error().what;
  ASSERT_EQ(sc21->rows.size(), 1U);
  EXPECT_EQ(sc21->rows[0].software, "megatron-2021");
  EXPECT_EQ(sc21->rows[0].plan.recompute, Recompute::full);
  EXPECT_EQ(sc21->rows[0].plan.shard, Shard::none);
  EXPECT_DOUBLE_EQ(sc21->rows[0].step_s, 3.528);
  const auto selective = read(
      "model,heads,hidden,layers,seq,tp,pp,dp,gpus,global_batch,micro_batch,mode,iter_time_s,source\n"
      "22B,64,6144,48,2048,8,1,1,8,4,4,full recompute,1.42,s\n"
      "22B,64,6144,48,2048,8,1,1,8,4,4,sequence parallel + selective recompute,1.10,s\n");
  ASSERT_TRUE(selective) << selective.error().what;
  ASSERT_EQ(selective->rows.size(), 2U);
  EXPECT_EQ(selective->rows[0].plan.recompute, Recompute::full);
  EXPECT_FALSE(selective->rows[0].plan.sequence_parallel);
  EXPECT_EQ(selective->rows[1].plan.recompute, Recompute::selective);
  EXPECT_TRUE(selective->rows[1].plan.sequence_parallel);
}

TEST(TrainingRows, RecipesDoNotSayHowTheyAreSpread) {
  const auto t = read("recipe,gpus,dtype,step_time,step_time_unit\npretrain_llama3_70b_fp8,64,fp8,3711.880,ms\n");
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_TRUE(t->rows.empty());
  ASSERT_EQ(t->skipped.size(), 1U);
  EXPECT_EQ(t->skipped[0].why, "it does not say how it was spread over the GPUs");
}

TEST(TrainingRows, WhatCannotBeIsSkippedAndSaid) {
  const auto t = read(std::string(kVtrain) + "8,32,4,1024,16,24,1024,2,2,3,219.73,s\n8,32,4,1024,16,24,1024,,2,2,219.73,s\n");
  ASSERT_TRUE(t);
  EXPECT_TRUE(t->rows.empty());
  EXPECT_EQ(t->skipped[0].why, "tp 2 x cp 1 x pp 3 x dp 2 are not its 8 GPUs");
  EXPECT_EQ(t->skipped[1].why, "it does not say how it was spread over the GPUs");
}

TEST(TrainingRows, AGpuThatLacksTheFormatIsSaid) {
  const auto t = read(
      "model,system,gpus,precision,gbs,mbs,seq,tp,pp,cp,vp,ep,tokens_per_s_per_gpu,release\n"
      "LLAMA3_70B,DGX-H100,64,NVFP4,256,1,8192,1,4,1,5,n/a,4864,26.04\nLLAMA3_70B,DGX-H100,64,FP8,256,0,8192,1,4,1,5,n/"
      "a,4864,26.04\n");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->skipped.size(), 2U);
  EXPECT_EQ(t->skipped[0].row + t->skipped[1].row, 1U);
  EXPECT_EQ(t->skipped[0].why, "its GPU has no nvfp4");
}

TEST(TrainingRows, AWrongCellNamesItsLine) {
  const auto t = read(std::string(kVtrain) + "8,32,four,1024,16,24,1024,2,2,2,219.73,s\n");
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().what, "t.csv:2: micro batch must be a number, is 'four'");
  const auto other = read("a,b\n1,2\n");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().what.find("not the columns of any table"), std::string::npos);
}

}  // namespace
}  // namespace muster
