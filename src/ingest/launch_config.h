// How a run is to be started, from the files that frameworks read: DeepSpeed's configuration (JSON), Hugging Face Accelerate's
// (YAML) for FSDP or DeepSpeed, or Megatron-LM's arguments in a launch script.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/training_plan.h"

namespace muster {

// 0 and none: the file leaves it open ("auto").
struct LaunchConfig {
  std::string framework;  // "DeepSpeed", "FSDP", "Megatron"
  std::uint32_t gpus = 0;
  std::uint32_t batch = 0;
  std::uint32_t micro_batch = 0;
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  std::uint32_t pp = 1;
  std::uint32_t vp = 1;
  std::uint32_t ep = 0;  // 0: not told
  std::uint32_t seq = 0;
  std::optional<Shard> shard;
  std::uint32_t shard_ranks = 0;  // that share one copy; 0: all
  std::uint32_t copies = 0;       // instead: how many there are
  bool copy_a_node = false;       // instead: one on each node
  std::optional<Recompute> recompute;
  std::uint32_t recompute_layers = 0;     // of a stage; 0: all
  std::optional<bool> sequence_parallel;  // none: the framework has no such
  std::optional<Dtype> dtype;
  bool half = false;  // fp16, which is planned as bf16: it is as fast and as large
};

Result<LaunchConfig> parse_launch_config(std::string_view text, std::string_view where);

}  // namespace muster
