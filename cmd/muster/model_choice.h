// Models and GPUs by the names that a person gives.
#pragma once
#include <string>

#include "base/result.h"
#include "model/gpu_model.h"
#include "model/transformer.h"

namespace muster::cmd {

// One that ships, or a file: a Hugging Face config.json, or Megatron-LM's arguments.
Result<Transformer> chosen_model(const std::string& name);
Result<const Transformer*> shipped_model(const std::string& name);
Result<const GpuModel*> chosen_gpu(const std::string& name);

}  // namespace muster::cmd
