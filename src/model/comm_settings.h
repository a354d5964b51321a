// Switches of training frameworks that decide how much of a step's communication can be seen, and other costs that a plan does
// not tell. None and 0: not told.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "model/training_plan.h"

namespace muster {

struct CommSettings {
  std::string framework;  // "Megatron", "DeepSpeed", "FSDP", "torchtitan", "DDP"; empty: not told

  // Among replicas.
  std::optional<bool> overlap_grad_reduce;    // gradients are summed while others are computed
  std::optional<bool> overlap_param_gather;   // weights are gathered while others are used
  std::optional<bool> distributed_optimizer;  // each replica keeps a piece of the optimizer's state
  std::optional<std::uint32_t> zero_stage;
  std::uint64_t reduce_bucket = 0, gather_bucket = 0;  // in parameters
  std::uint64_t prefetch_bucket = 0;
  std::optional<std::uint64_t> persistence_threshold;  // parameters below it are kept whole
  std::uint32_t hierarchy = 0;                         // ranks that share a second copy of the weights (hpZ)
  std::optional<bool> quantized_weights, quantized_gradients;
  std::optional<bool> contiguous_gradients, reduce_scatter;
  std::optional<bool> reshard_after_forward;
  std::string backward_prefetch;  // "BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"
  std::optional<bool> forward_prefetch, limit_all_gathers;
  std::string offload_optimizer, offload_param;  // "cpu", "nvme"; empty: not told, or none
  std::string comm_dtype;                        // in which gradients are summed: "fp32", "bf16", "fp16"
  std::optional<bool> grads_fp32;

  // Among tensor ranks, stages and experts.
  std::optional<bool> sequence_parallel;
  std::optional<bool> tensor_overlap;  // products and exchanges piece by piece
  std::optional<bool> async_tensor;
  std::optional<bool> overlap_p2p;
  std::string moe_dispatcher;  // "allgather", "alltoall", "flex"

  // What is computed.
  std::optional<Recompute> recompute;
  std::optional<bool> fused_attention;
  std::optional<bool> grad_accumulation_fusion, cross_entropy_fusion, compile;
  std::optional<Dtype> dtype;

  // The host's part.
  std::optional<std::uint32_t> data_workers;
  std::optional<std::uint32_t> timing_level;  // Megatron's: 1 and 2 have barriers around what is timed
  std::optional<bool> wall_clock_breakdown;   // DeepSpeed's: the GPU is waited for after every phase
  std::optional<std::uint32_t> empty_cache;   // Megatron's: the allocator's cache is given back each step
  std::uint64_t save_interval = 0, eval_interval = 0, log_interval = 0;
  std::optional<bool> async_save;
};

}  // namespace muster
