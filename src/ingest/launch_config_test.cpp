#include "ingest/launch_config.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(LaunchConfig, DeepSpeedSaysHowManyReplicasThereAre) {
  const auto c = parse_launch_config(R"({"train_batch_size": 1024, "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 3}, "bf16": {"enabled": true},
    "tensor_parallel": {"autotp_size": 4}})",
                                     "ds.json");
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->gpus, 512U);
  EXPECT_EQ(c->tp, 4U);
  EXPECT_EQ(c->shard, Shard::weights);
  EXPECT_EQ(c->dtype, Dtype::bf16);
}

TEST(LaunchConfig, AMegatronScript) {
  const std::string head = "TP=8\nARGS=\"--num-layers 126 --tensor-model-parallel-size $TP --pipeline-model-parallel-size 16 ";
  const auto c = parse_launch_config(
      head +
          "--num-layers-per-virtual-pipeline-stage 1 --micro-batch-size 1 --global-batch-size 2048 \\\n --seq-length 8192 "
          "--use-distributed-optimizer --recompute-activations --fp16\"\n",
      "run.sh");
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->framework, "Megatron");
  EXPECT_EQ(c->tp, 8U);
  EXPECT_EQ(c->pp, 16U);
  EXPECT_EQ(c->vp, 8U) << "126 layers, the embedding and the head in 128 pieces";
  EXPECT_EQ(c->ep, 0U);
  EXPECT_EQ(c->batch, 2048U);
  EXPECT_EQ(c->seq, 8192U);
  EXPECT_EQ(c->shard, Shard::optimizer);
  EXPECT_EQ(c->recompute, Recompute::selective);
  EXPECT_TRUE(c->half);
  EXPECT_EQ(parse_launch_config(head + "--num-layers-per-virtual-pipeline-stage 3\"", "r").error().what,
            "r: 126 layers in 16 stages are no pieces of 3");
  EXPECT_FALSE(parse_launch_config(
      "--num-layers 4 --pipeline-model-parallel-size 65536 --num-layers-per-virtual-pipeline-stage 65536", "r"));
  EXPECT_EQ(parse_launch_config("--num-layers 4 --micro-batch-size many", "r").error().what,
            "r: --micro-batch-size must be a whole number above 0, is 'many'");
}

TEST(LaunchConfig, WhatAScriptLeavesOutIsAsMegatronHasIt) {
  const std::string head =
      "torchrun --nproc_per_node 8 --nnodes 4 pretrain.py --num-layers 40 --tensor-model-parallel-size 4 "
      "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --micro-batch-size 2 ";
  const auto c =
      parse_launch_config(head + "--recompute-granularity full --recompute-method block --recompute-num-layers 3", "r");
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->gpus, 32U);
  EXPECT_EQ(c->batch, 8U) << "a micro-batch for each of four replicas";
  EXPECT_EQ(c->recompute_layers, 6U) << "three of each of two pieces";
  EXPECT_EQ(c->sequence_parallel, false);
  EXPECT_EQ(c->shard, Shard::none);
  EXPECT_EQ(parse_launch_config(head + "--sequence-parallel", "r")->sequence_parallel, true);
}

TEST(LaunchConfig, AccelerateGoesByItsType) {
  const std::string more = "num_processes: 8\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n";
  EXPECT_EQ(parse_launch_config("distributed_type: FSDP\n" + more, "a")->shard, Shard::weights);
  EXPECT_EQ(parse_launch_config("distributed_type: MULTI_GPU\n" + more, "a")->shard, Shard::none)
      << "what is left over does not count";
  EXPECT_EQ(parse_launch_config("distributed_type: FSDP\nmixed_precision: 'no'\n" + more, "a").error().what,
            "a: mixed_precision no is training in 32 bits, which is not planned");
}

TEST(LaunchConfig, AutoIsLeftOpen) {
  const auto c = parse_launch_config(
      R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}})", "ds.json");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->batch, 0U);
  EXPECT_EQ(c->gpus, 0U);
  EXPECT_EQ(c->shard, Shard::gradients);
}

TEST(LaunchConfig, AccelerateForFsdp) {
  const char* head = "distributed_type: FSDP\nnum_processes: 64\nmixed_precision: bf16\nfsdp_config:\n";
  const auto with = [&](const std::string& more) { return parse_launch_config(head + more, "a.yaml"); };
  const auto c = with("  fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_activation_checkpointing: true\n");
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->framework, "FSDP");
  EXPECT_EQ(c->gpus, 64U);
  EXPECT_EQ(c->shard, Shard::gradients);
  EXPECT_EQ(c->recompute, Recompute::full);
  EXPECT_EQ(with("  fsdp_version: 2\n  fsdp_reshard_after_forward: true\n")->shard, Shard::weights);
  EXPECT_EQ(with("  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n")->shard, Shard::gradients);
  EXPECT_EQ(with("  fsdp_sharding_strategy: HALF\n").error().what,
            "a.yaml: fsdp_sharding_strategy must be FULL_SHARD, SHARD_GRAD_OP, NO_SHARD or HYBRID_SHARD");
}

TEST(LaunchConfig, CopiesOfTheWeights) {
  const std::string head = "num_processes: 64\nfsdp_config:\n  fsdp_sharding_strategy: ";
  EXPECT_TRUE(parse_launch_config(head + "HYBRID_SHARD\n", "a")->copy_a_node);
  EXPECT_FALSE(parse_launch_config(head + "FULL_SHARD\n", "a")->copy_a_node);
  const char* ranks = "FULL_SHARD\nparallelism_config:\n  parallelism_config_dp_replicate_size: 4\n";
  EXPECT_EQ(parse_launch_config(head + ranks, "a")->copies, 4U);
  EXPECT_EQ(parse_launch_config(R"({"zero_optimization": {"stage": 3, "mics_shard_size": 8}})", "a")->shard_ranks, 8U);
}

TEST(LaunchConfig, WhatIsNotPlannedIsSaid) {
  const auto why = [](const char* text) { return parse_launch_config(text, "x").error().what; };
  EXPECT_EQ(why(R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})"),
            "x: offload_optimizer to cpu: what is kept outside the GPU is not planned");
  EXPECT_EQ(why("deepspeed_config:\n  deepspeed_config_file: ds.json\n"), "x: it leaves all to ds.json: give that file instead");
  EXPECT_EQ(why("fsdp_config:\n  fsdp_offload_params: true\n"),
            "x: fsdp_offload_params: what is kept outside the GPU is not planned");
}

TEST(LaunchConfig, WhatCannotBeIsSaid) {
  const auto why = [](const char* text) { return parse_launch_config(text, "x").error().what; };
  EXPECT_EQ(why(R"({"train_batch_size": 100, "train_micro_batch_size_per_gpu": 3, "gradient_accumulation_steps": 2})"),
            "x: a batch of 100 is no multiple of micro-batches of 3 times 2");
  EXPECT_EQ(why(R"({"train_batch_size": -5})"), "x: train_batch_size must be a whole number above 0, or \"auto\"");
  EXPECT_EQ(why(R"({"zero_optimization": {"stage": 7}})"), "x: stage must be 0, 1, 2 or 3");
  EXPECT_EQ(why(R"({"hidden_size": 5})"), "x: this is no configuration of DeepSpeed, Accelerate or Megatron-LM");
  EXPECT_EQ(why("a: 1\n"), "x: this is no configuration of DeepSpeed, Accelerate or Megatron-LM");
}

}  // namespace
}  // namespace muster
