#include "report/plan.h"

#include <gtest/gtest.h>

#include "ingest/hardware_file.h"

namespace muster::report {
namespace {

TrainingPlan spread(std::uint32_t tp, std::uint32_t pp, std::uint32_t dp) {
  TrainingPlan p;
  p.tp = tp;
  p.pp = pp;
  p.dp = dp;
  p.gpus = tp * pp * dp;
  p.global_batch = 512;
  p.seq = 8192;
  return p;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Launch, MegatronsArgumentsSayTheWholePlan) {
  TrainingPlan p = spread(8, 4, 16);
  p.vp = 5;
  p.sequence_parallel = true;
  p.shard = Shard::optimizer;
  p.recompute = Recompute::full;
  p.recompute_layers = 10;
  const std::string text = *launch_text(Launcher::megatron, *find_transformer("llama3-70b"), p);
  for (const char* part :
       {"--num-layers 80", "--group-query-attention --num-query-groups 8", "--swiglu", "--tensor-model-parallel-size 8",
        "--pipeline-model-parallel-size 4", "--num-layers-per-virtual-pipeline-stage 4", "--sequence-parallel",
        "--use-distributed-optimizer", "--recompute-method block --recompute-num-layers 2", "--bf16"}) {
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  }
  const std::string experts = *launch_text(Launcher::megatron, *find_transformer("deepseek-v3"), spread(1, 1, 64));
  EXPECT_TRUE(has(experts, "--num-experts 256 --moe-router-topk 8")) << experts;
  EXPECT_TRUE(has(experts, "--multi-latent-attention --kv-lora-rank 512")) << experts;
}

TEST(Launch, TorchtitansDegreesMultiplyToTheGpus) {
  TrainingPlan p = spread(2, 1, 64);
  p.shard = Shard::weights;
  const Transformer& m = *find_transformer("llama3-8b");
  EXPECT_TRUE(has(*launch_text(Launcher::torchtitan, m, p), "replicate_degree = 1\ndata_parallel_shard_degree = 64\n"));
  p.shard_ranks = 8;
  EXPECT_TRUE(has(*launch_text(Launcher::torchtitan, m, p), "replicate_degree = 8\ndata_parallel_shard_degree = 8\n"));
  p.shard = Shard::none;
  p.shard_ranks = 0;
  EXPECT_TRUE(has(*launch_text(Launcher::torchtitan, m, p), "replicate_degree = 64\ndata_parallel_shard_degree = 1\n"));
}

TEST(Launch, WhatDeepSpeedTakesFromCodeIsRefused) {
  const Transformer& m = *find_transformer("llama3-8b");
  const auto text = launch_text(Launcher::deepspeed, m, spread(1, 2, 8));
  ASSERT_FALSE(text);
  EXPECT_TRUE(has(text.error().what, "pipeline stages"));
  TrainingPlan p = spread(1, 1, 64);
  p.shard = Shard::gradients;
  EXPECT_TRUE(has(*launch_text(Launcher::deepspeed, m, p), "\"stage\": 2"));
}

TEST(Why, TheBestOnesTimeAndWhatTheNextOneLoses) {
  PlanRow best{{spread(8, 1, 8), 10, 50}, {}, {}};
  best.time.compute_s = 8;
  best.time.data_s = 2;
  PlanRow next{{spread(4, 2, 8), 12, 40}, {}, {}};
  next.time.compute_s = 8;
  next.time.data_s = 1;
  next.time.bubble_s = 3;
  const auto lines = say_why({best, next});
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[1], "its step of 10.00 s goes into computing layers 80 %, gradients and weights among replicas 20 %");
  EXPECT_EQ(lines[4], "it is 20.0 % slower, most by stages that wait for the pipeline: 3.00 s instead of 0 ms");
  next.candidate.step_s = 10.01;
  EXPECT_EQ(say_why({best, next})[4], "it is as fast");
  EXPECT_TRUE(say_why({}).empty());
}

// Operators and the rest of a step sum to the step.
TEST(Why, OperatorsSumToTheStep) {
  design::SearchAsk ask;
  ask.gpu = *find_gpu_model("h100");
  ask.network = {8, ask.gpu.nic_gb_s};
  ask.gpus = 256;
  ask.global_batch = 256;
  ask.seq = 4096;
  for (const char* name : {"llama3-70b", "mixtral-8x7b", "deepseek-v3"}) {
    ask.model = *find_transformer(name);
    const auto found = design::search(ask);
    ASSERT_TRUE(found);
    ASSERT_FALSE(found->best.empty()) << name;
    for (const design::Candidate& c : found->best) {
      double sum = 0;
      for (const auto& row : operator_table(ask, c).rows) sum += *row.back().key;
      EXPECT_NEAR(sum, 100, 2) << name << " " << say_plan(c.plan);
    }
  }
}

TEST(Why, ThePlanInWords) {
  TrainingPlan p = spread(2, 1, 64);
  p.shard = Shard::weights;
  p.shard_ranks = 8;
  EXPECT_EQ(say_plan(p), "TP 2, PP 1, DP 64, micro-batches of 1 (8 a step), nothing computed again, weights in pieces among 8");
}

}  // namespace
}  // namespace muster::report
