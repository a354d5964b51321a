// How a run is to be started, from the files that frameworks read: DeepSpeed's configuration (JSON), or Hugging Face Accelerate's
// (YAML) for FSDP or DeepSpeed.
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
  std::string framework;  // "DeepSpeed", "FSDP"
  std::uint32_t gpus = 0;
  std::uint32_t batch = 0;
  std::uint32_t micro_batch = 0;
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  std::optional<Shard> shard;
  std::optional<Recompute> recompute;
  std::optional<Dtype> dtype;
};

Result<LaunchConfig> parse_launch_config(std::string_view text, std::string_view where);

}  // namespace muster
