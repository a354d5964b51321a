#include "predict/memory.h"

#include <gtest/gtest.h>

namespace muster::predict {
namespace {

Transformer gpt22b() {
  Transformer m;
  m.name = "gpt-22b";
  m.layers = 48;
  m.hidden = 6144;
  m.heads = m.kv_heads = 64;
  m.head_dim = 96;
  m.ffn = 4 * 6144;
  m.vocab = 51200;
  return m;
}

TrainingPlan eight() {
  TrainingPlan p;
  p.gpus = p.tp = 8;
  p.micro_batch = p.global_batch = 4;
  p.seq = 2048;
  p.sequence_parallel = true;
  return p;
}

// Korthikanti 2022, table 2: s b h (34 + 5 a s / h) / t bytes a layer with tensor and sequence parallelism, of which two are
// masks of dropout that nobody keeps any more.
TEST(Memory, ActivationsAreThoseOfTheFormula) {
  const Transformer m = gpt22b();
  const TrainingPlan p = eight();
  const double sbh = 2048.0 * 4 * 6144;
  const double expected = 48 * sbh * (32 + 5.0 * 64 * 2048 / 6144) / 8 / 1e9;
  EXPECT_NEAR(memory_use(m, p, {.fused_attention = false}).activations, expected, 1e-6);
  EXPECT_NEAR(memory_use(m, p).activations, 48 * sbh * 32 / 8 / 1e9, 1e-6);
  TrainingPlan full = p;
  full.recompute = Recompute::full;
  EXPECT_NEAR(memory_use(m, full).activations, (48 * 2 + 32) * sbh / 8 / 1e9, 1e-6) << "inputs of layers, and one layer whole";
  TrainingPlan plain = p;
  plain.sequence_parallel = false;
  EXPECT_NEAR(memory_use(m, plain).activations, 48 * sbh * (8 + 24.0 / 8) / 1e9, 1e-6);
}

// Rajbhandari 2020: 16 bytes a parameter with 16-bit gradients, of which replicas share 12, 14 or all.
TEST(Memory, ReplicasKeepPieces) {
  const Transformer m = gpt22b();
  TrainingPlan p = eight();
  p.tp = 1;
  p.dp = 8;
  p.global_batch = 32;
  p.sequence_parallel = false;
  const MemoryHabits habits{.gradient_bytes = 2};
  const double n = m.params() / 1e9;
  const auto kept = [&](Shard s) {
    p.shard = s;
    const MemoryUse u = memory_use(m, p, habits);
    return u.weights + u.gradients + u.optimizer;
  };
  EXPECT_NEAR(kept(Shard::none), 16 * n, 0.01 * n);
  EXPECT_NEAR(kept(Shard::optimizer), (4 + 12.0 / 8) * n, 0.01 * n);
  EXPECT_NEAR(kept(Shard::gradients), (2 + 14.0 / 8) * n, 0.01 * n);
  EXPECT_NEAR(kept(Shard::weights), (16.0 / 8 + 2.0 * 2 / 48) * n, 0.01 * n) << "and two layers whole";
  p.shard_ranks = 4;
  EXPECT_NEAR(kept(Shard::weights), (16.0 / 4 + 2.0 * 2 / 48) * n, 0.01 * n);
}

TEST(Memory, StagesKeepAsManyMicroBatchesAsThereAreStages) {
  const Transformer m = gpt22b();
  TrainingPlan p = eight();
  p.tp = 1;
  p.sequence_parallel = false;
  p.global_batch = 64;
  const double one = memory_use(m, p).activations;
  p.pp = 8;
  EXPECT_NEAR(memory_use(m, p).activations, one, 1e-6) << "an eighth of the layers, eight times";
  p.vp = 2;
  EXPECT_NEAR(memory_use(m, p).activations, one * (1 + 7.0 / 16), 1e-6);
  p.global_batch = 4;
  p.vp = 1;
  EXPECT_NEAR(memory_use(m, p).activations, one / 8, 1e-6) << "one micro-batch";
}

TEST(Memory, OptimizersKeepWhatTheyKeep) {
  EXPECT_DOUBLE_EQ(state_bytes(Optimizer::adam), MemoryHabits{}.optimizer_bytes) << "the usual one";
  for (const auto name : {Optimizer::adam_bf16, Optimizer::adam_8bit, Optimizer::adafactor, Optimizer::muon, Optimizer::sgd}) {
    EXPECT_LT(state_bytes(name), 12);
    EXPECT_GE(state_bytes(name), 4) << "weights in 32 bits at least";
  }
}

}  // namespace
}  // namespace muster::predict
