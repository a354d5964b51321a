// Models, GPUs and prices by the names that a person gives.
#pragma once
#include <string>

#include "base/result.h"
#include "model/gpu_model.h"
#include "model/hardware_prices.h"
#include "model/transformer.h"

namespace muster::cmd {

// One that ships, or a file: a Hugging Face config.json, or Megatron-LM's arguments.
Result<Transformer> chosen_model(const std::string& name);
Result<const Transformer*> shipped_model(const std::string& name);
Result<const GpuModel*> chosen_gpu(const std::string& name);
// As drivers name them: "NVIDIA H200" is h200, and "NVIDIA H100 80GB HBM3" h100. nullptr: not known.
const GpuModel* gpu_that_calls_itself(const std::string& name);
// Those that ship where no file is named.
Result<HardwarePrices> chosen_prices(const std::string& file);

}  // namespace muster::cmd
