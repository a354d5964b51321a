#include "ingest/run_config.h"

#include <gtest/gtest.h>

#include "ingest/step_log.h"

namespace muster {
namespace {

constexpr std::string_view kDump =
    "using world size: 64, data-parallel size: 4\n------------------------ arguments ------------------------\n"
    "  bf16 ............................................ True\n  context_parallel_size ........................... 1\n"
    "  ffn_hidden_size ................................. 28672\n  fp8 ............................................. None\n"
    "  global_batch_size ............................... 256\n  group_query_attention ........................... True\n"
    "  hidden_size ..................................... 8192\n  micro_batch_size ................................ 1\n"
    "  num_attention_heads ............................. 64\n  num_layers ...................................... 80\n"
    "  num_layers_per_virtual_pipeline_stage ........... 5\n  num_query_groups ................................ 8\n"
    "  overlap_grad_reduce ............................. False\n  pipeline_model_parallel_size .................... 4\n"
    "  recompute_granularity ........................... selective\n  seq_length ...................................... 4096\n"
    "  sequence_parallel ............................... True\n  swiglu .......................................... True\n"
    "  tensor_model_parallel_size ...................... 4\n  untie_embeddings_and_output_weights ............. True\n"
    "  use_distributed_optimizer ....................... True\n  world_size ...................................... 64\n"
    "-------------------- end of arguments ---------------------\n"
    " > padded vocab (size: 32000) with 0 dummy tokens (new size: 32000)\n";

TEST(RunConfig, ADumpOfArgumentsIsPlanAndModel) {
  const RunConfig c = run_config_of(parse_step_log(kDump));
  ASSERT_TRUE(c.launch) << c.not_planned;
  ASSERT_TRUE(c.model);
  EXPECT_EQ(c.model->layers, 80U);
  EXPECT_EQ(c.model->kv_heads, 8U);
  EXPECT_EQ(c.model->vocab, 32000U);
  EXPECT_TRUE(c.model->gated);
  EXPECT_FALSE(c.model->tied);
  EXPECT_EQ(c.settings.overlap_grad_reduce, false);
  const auto p = plan_of(*c.launch, 0, 0, 8);
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->gpus, 64U);
  EXPECT_EQ(p->tp, 4U);
  EXPECT_EQ(p->pp, 4U);
  EXPECT_EQ(p->vp, 4U);
  EXPECT_EQ(p->dp, 4U);
  EXPECT_EQ(p->recompute, Recompute::selective);
  EXPECT_EQ(p->shard, Shard::optimizer);
  EXPECT_TRUE(p->sequence_parallel);
  EXPECT_EQ(p->global_batch, 256U);
}

TEST(RunConfig, ADumpIsAConfigurationToo) {
  const auto c = parse_run_config(kDump, "job.log");
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->launch->tp, 4U);
}

TEST(RunConfig, TorchtitansToml) {
  const auto c = parse_run_config(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nglobal_batch_size = 64\nseq_len = 8192\n"
      "[parallelism]\ndata_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 8\ntensor_parallel_degree = 2\n"
      "[activation_checkpoint]\nmode = \"full\"\n",
      "train.toml");
  ASSERT_TRUE(c) << c.error().what;
  ASSERT_TRUE(c->launch && c->model);
  EXPECT_EQ(c->model->name, "llama3-8b");
  const auto p = plan_of(*c->launch, 0, 0, 8);
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->gpus, 32U);
  EXPECT_EQ(p->dp, 16U);
  EXPECT_EQ(p->shard, Shard::weights);
  EXPECT_EQ(p->shard_ranks, 8U);
  EXPECT_EQ(p->recompute, Recompute::full);
}

TEST(RunConfig, WhatCannotBePlannedStillHasSettings) {
  const auto c = parse_run_config(R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})", "ds.json");
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->launch);
  EXPECT_NE(c->not_planned.find("ds.json"), std::string::npos);
  EXPECT_EQ(c->settings.offload_optimizer, "cpu");
  const auto fsdp = parse_run_config(R"({"backward_prefetch": "no_prefetch", "limit_all_gathers": false})", "fsdp.json");
  ASSERT_TRUE(fsdp) << fsdp.error().what;
  EXPECT_EQ(fsdp->settings.backward_prefetch, "NO_PREFETCH");
  EXPECT_EQ(fsdp->settings.limit_all_gathers, false);
}

TEST(RunConfig, WhatCannotBePlannedStillTellsItsBatch) {
  const auto c = parse_run_config(
      R"({"train_batch_size": 128, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})", "ds.json");
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->launch);
  EXPECT_EQ(batch_of(*c, 0), 128U);
  EXPECT_EQ(batch_of(merged(RunConfig{}, *c), 0), 128U);
  const auto parts = parse_run_config(
      R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})", "ds.json");
  ASSERT_TRUE(parts);
  EXPECT_EQ(batch_of(*parts, 16), 128U);
  EXPECT_EQ(batch_of(*parts, 0), 0U);
}

TEST(RunConfig, ErrorsNameTheFile) {
  for (const char* text : {"{}", "{", "a: b\n", "[training]\nx = \n"}) {
    const auto c = parse_run_config(text, "x.conf");
    ASSERT_FALSE(c) << text;
    EXPECT_EQ(c.error().what.find("x.conf"), 0U) << c.error().what;
  }
}

TEST(RunConfig, MergedTakesWhatTheFirstLeavesOpen) {
  RunConfig a, b;
  a.launch = LaunchConfig{};
  a.launch->tp = 2;
  b.launch = LaunchConfig{};
  b.launch->tp = 4;
  b.launch->gpus = 64;
  b.launch->seq = 4096;
  const RunConfig m = merged(a, b);
  EXPECT_EQ(m.launch->tp, 2U);
  EXPECT_EQ(m.launch->gpus, 64U);
  EXPECT_EQ(merged(RunConfig{}, b).launch->tp, 4U);
}

TEST(RunConfig, APlanMustBePossible) {
  LaunchConfig c;
  EXPECT_EQ(plan_of(c, 0, 4096, 8).error().what, "how many GPUs it ran on is not told");
  EXPECT_EQ(plan_of(c, 8, 0, 8).error().what, "the length of its sequences is not told");
  c.tp = 3;
  EXPECT_FALSE(plan_of(c, 8, 4096, 8));
  c.tp = 2;
  c.batch = 7;
  EXPECT_FALSE(plan_of(c, 8, 4096, 8));
  c.batch = 8;
  EXPECT_TRUE(plan_of(c, 8, 4096, 8));
}

}  // namespace
}  // namespace muster
