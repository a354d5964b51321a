#include "ingest/comm_settings.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "ingest/step_log.h"
#include "ingest/toml.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

TEST(CommSettings, MegatronsScript) {
  const CommSettings s =
      megatron_settings(settings_of(Arguments("torchrun pretrain_gpt.py --num-layers 32 --overlap-grad-reduce "
                                              "--use-distributed-optimizer \\\n  --recompute-granularity full "
                                              "--bf16 --no-gradient-accumulation-fusion --num-workers 2 --ddp-bucket-size "
                                              "40000000 --fp8-format hybrid --save-interval 500\n")));
  EXPECT_EQ(s.framework, "Megatron");
  EXPECT_EQ(s.overlap_grad_reduce, true);
  EXPECT_EQ(s.overlap_param_gather, false);
  EXPECT_EQ(s.distributed_optimizer, true);
  EXPECT_EQ(s.tensor_overlap, false);
  EXPECT_EQ(s.grad_accumulation_fusion, false);
  EXPECT_EQ(s.recompute, Recompute::full);
  EXPECT_EQ(s.reduce_bucket, 40'000'000U);
  EXPECT_EQ(s.data_workers, 2U);
  EXPECT_EQ(s.dtype, Dtype::fp8);
  EXPECT_EQ(s.save_interval, 500U);
  EXPECT_FALSE(s.fused_attention);
}

TEST(CommSettings, DeepSpeedsJson) {
  const auto tree = parse_json(
      R"({"zero_optimization": {"stage": 2, "overlap_comm": true, "reduce_bucket_size": 5e8, "allgather_bucket_size": 2e8,
          "contiguous_gradients": true, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "none"}},
          "bf16": {"enabled": true}, "fp16": {"enabled": false}, "communication_data_type": "fp32",
          "wall_clock_breakdown": true})");
  ASSERT_TRUE(tree);
  const CommSettings s = deepspeed_settings(settings_of(*tree));
  EXPECT_EQ(s.zero_stage, 2U);
  EXPECT_EQ(s.overlap_grad_reduce, true);
  EXPECT_EQ(s.reduce_bucket, 500'000'000U);
  EXPECT_EQ(s.gather_bucket, 200'000'000U);
  EXPECT_EQ(s.offload_optimizer, "cpu");
  EXPECT_EQ(s.offload_param, "");
  EXPECT_EQ(s.comm_dtype, "fp32");
  EXPECT_EQ(s.wall_clock_breakdown, true);
  EXPECT_EQ(s.dtype, Dtype::bf16);
}

TEST(CommSettings, DeepSpeedsOwnDefaultOfOverlap) {
  for (const int stage : {1, 2, 3}) {
    const auto tree = parse_json("{\"zero_optimization\": {\"stage\": " + std::to_string(stage) + "}}");
    EXPECT_EQ(deepspeed_settings(settings_of(*tree)).overlap_grad_reduce, stage == 3);
  }
}

TEST(CommSettings, AcceleratesYaml) {
  const auto tree = parse_yaml(
      "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  "
      "fsdp_backward_prefetch: "
      "NO_PREFETCH\n  fsdp_forward_prefetch: false\n  fsdp_offload_params: true\n  fsdp_activation_checkpointing: true\n",
      "f.yaml");
  ASSERT_TRUE(tree);
  const CommSettings s = fsdp_settings(settings_of(*tree));
  EXPECT_EQ(s.framework, "FSDP");
  EXPECT_EQ(s.reshard_after_forward, true);
  EXPECT_EQ(s.backward_prefetch, "NO_PREFETCH");
  EXPECT_EQ(s.forward_prefetch, false);
  EXPECT_EQ(s.offload_param, "cpu");
  EXPECT_EQ(s.recompute, Recompute::full);
}

TEST(CommSettings, TorchtitansToml) {
  const auto tree = parse_toml(
      "[model]\nconverters = [\"float8\"]\n[training]\ncompile = true\n[parallelism]\ntensor_parallel_degree = 2\n"
      "enable_async_tensor_parallel = false\nfsdp_reshard_after_forward = \"never\"\n[activation_checkpoint]\nmode = "
      "'selective'\n"
      "[checkpoint]\nenable_checkpoint = true\ninterval = 500\nasync_mode = \"disabled\"\n",
      "f.toml");
  ASSERT_TRUE(tree);
  const CommSettings s = torchtitan_settings(settings_of(*tree));
  EXPECT_EQ(s.async_tensor, false);
  EXPECT_EQ(s.reshard_after_forward, false);
  EXPECT_EQ(s.recompute, Recompute::selective);
  EXPECT_EQ(s.compile, true);
  EXPECT_EQ(s.dtype, Dtype::fp8);
  EXPECT_EQ(s.save_interval, 500U);
  EXPECT_EQ(s.async_save, false);
}

TEST(CommSettings, OfALogTheEngineCompletesTheArguments) {
  StepLog log;
  log.arguments = {{"deepspeed", "True"},
                   {"zero_stage", "1"},
                   {"use_flash_attn", "False"},
                   {"transformer_impl", "local"},
                   {"overlap_grad_reduce", "True"},
                   {"recompute_granularity", "None"},
                   {"fp16", "True"}};
  log.engine = {{"zero_config.overlap_comm", "False"}, {"zero_config.reduce_bucket_size", "500,000,000"}};
  const CommSettings s = log_settings(log);
  EXPECT_EQ(s.framework, "Megatron");
  EXPECT_EQ(s.zero_stage, 1U);
  EXPECT_EQ(s.overlap_grad_reduce, false);  // Megatron's own flag does nothing there
  EXPECT_EQ(s.reduce_bucket, 500'000'000U);
  EXPECT_EQ(s.fused_attention, false);
  EXPECT_FALSE(s.recompute);
}

TEST(CommSettings, MergedTakesTheFirst) {
  CommSettings a, b;
  a.overlap_grad_reduce = true;
  b.overlap_grad_reduce = false;
  b.zero_stage = 2;
  b.comm_dtype = "fp32";
  const CommSettings m = merged(a, b);
  EXPECT_EQ(m.overlap_grad_reduce, true);
  EXPECT_EQ(m.zero_stage, 2U);
  EXPECT_EQ(m.comm_dtype, "fp32");
}

}  // namespace
}  // namespace muster
