// What a run was started with, from any of the files that say so: DeepSpeed's JSON, Accelerate's YAML, torchtitan's TOML, a
// script with Megatron-LM's arguments, or what its log printed of them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ingest/launch_config.h"
#include "model/comm_settings.h"
#include "model/step_log.h"
#include "model/transformer.h"

namespace muster {

struct RunConfig {
  std::optional<LaunchConfig> launch;
  std::optional<Transformer> model;
  CommSettings settings;
  std::string not_planned;  // why `launch` is none; empty: nothing was told
  std::uint32_t batch = 0;  // samples a step, of all ranks and of one, whether or not the rest can be planned; 0: not told
  std::uint32_t rank_batch = 0;
};

// Errors begin with `where`.
Result<RunConfig> parse_run_config(std::string_view text, std::string_view where);
RunConfig run_config_of(const StepLog& log);
// What the first leaves open is taken from the second.
RunConfig merged(RunConfig first, const RunConfig& second);

// Samples a step; `gpus`: as many ranks have data of their own; 0: not told.
std::uint32_t batch_of(const RunConfig& config, std::uint32_t gpus);

// `gpus` and `seq`: where the configuration does not say; 0: not known. `node_gpus`: that a copy on each node is kept by.
Result<TrainingPlan> plan_of(const LaunchConfig& launch, std::uint32_t gpus, std::uint32_t seq, std::uint32_t node_gpus);

}  // namespace muster
