// How a training run is spread over GPUs.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "model/gpu_model.h"

namespace muster {

// What is computed again in the backward pass instead of being kept: nothing, the core of the attention, or whole layers.
enum class Recompute : std::uint8_t { none, selective, full };
constexpr std::array<std::string_view, 3> names(Recompute) { return {"none", "selective", "full"}; }

// What replicas keep in pieces instead of each a whole copy: ZeRO 0 to 3.
enum class Shard : std::uint8_t { none, optimizer, gradients, weights };
constexpr std::array<std::string_view, 4> names(Shard) { return {"none", "optimizer", "gradients", "weights"}; }

// In which order stages do their passes: one forward, one backward; the same in pieces that are interleaved; or with the
// gradients of weights put off to where stages would wait (Qi 2023, "H1": it keeps no more than the first).
enum class Schedule : std::uint8_t { one_f_one_b, interleaved, zero_bubble };
constexpr std::array<std::string_view, 3> names(Schedule) { return {"1f1b", "interleaved", "zero-bubble"}; }

struct TrainingPlan {
  std::uint32_t gpus = 1;
  std::uint32_t tp = 1;  // tensor
  std::uint32_t cp = 1;  // context
  std::uint32_t pp = 1;  // pipeline stages
  std::uint32_t vp = 1;  // pieces of each stage, interleaved
  bool zero_bubble = false;
  std::uint32_t dp = 1;  // replicas
  std::uint32_t ep = 1;  // groups of experts, across tp x cp x dp
  std::uint32_t micro_batch = 1;
  std::uint32_t global_batch = 1;  // sequences a step
  std::uint32_t seq = 0;           // tokens
  Recompute recompute = Recompute::none;
  std::uint32_t recompute_layers = 0;  // of a stage, where whole layers are computed again; 0: all
  Dtype dtype = Dtype::bf16;
  Shard shard = Shard::none;
  std::uint32_t shard_ranks = 0;   // replicas that share one copy (HSDP); 0: all
  bool sequence_parallel = false;  // norms and residuals are split among the tensor ranks too

  Schedule schedule() const {
    return zero_bubble ? Schedule::zero_bubble : vp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
  }
  // Of the longest stage, which the others wait for.
  std::uint32_t stage_layers(std::uint32_t layers) const { return (layers + pp - 1) / pp; }
  // Of a stage's layers, the share that is computed again.
  double recomputed(std::uint32_t layers) const {
    if (recompute != Recompute::full) return 0;
    const double own = stage_layers(layers);
    return recompute_layers == 0 || recompute_layers >= own ? 1 : recompute_layers / own;
  }
  double replicas() const { return static_cast<double>(dp) * cp; }  // of a weight that has no experts
  double pieces() const { return shard_ranks > 0 ? shard_ranks : replicas(); }
  double expert_replicas() const {
    const double ranks = static_cast<double>(tp) * cp * dp / ep;
    return ranks > 1 ? ranks : 1;
  }
  double micro_batches() const { return static_cast<double>(global_batch) / (static_cast<double>(dp) * micro_batch); }
  double tokens() const { return static_cast<double>(global_batch) * seq; }
};

}  // namespace muster
