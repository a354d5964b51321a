// The node and pod lists of the Alibaba GPU cluster trace of 2023 ("openb"): CSV with a header line, plain or gzip, told apart by
// content. Columns are found by name; those not named here are ignored. Errors are "file:line: reason".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

constexpr int kOpenbGpusPerNodeMax = 16;

struct OpenbNode {
  std::string name;
  std::int32_t cpu_milli = 0;
  std::int32_t memory_mib = 0;
  int gpus = 0;
  std::string model;  // of its GPUs, e.g. "T4"; empty only without GPUs
};

// A pod that asks for CPU and memory, and for no GPU, a share of one (gpus 1, gpu_milli below 1000) or whole ones (gpu_milli
// 1000).
struct OpenbPod {
  std::string name;
  std::int32_t cpu_milli = 0;
  std::int32_t memory_mib = 0;
  int gpus = 0;
  int gpu_milli = 0;                // of each GPU; 0 without GPUs
  std::vector<std::string> models;  // any of these will do, sorted and each once; empty: every model will do
};

// Columns sn,cpu_milli,memory_mib,gpu,model.
Result<std::vector<OpenbNode>> parse_openb_nodes(std::string_view bytes, std::string_view file);

// Columns name,cpu_milli,memory_mib,num_gpu,gpu_milli and, where there is one, gpu_spec ("V100M16|V100M32").
Result<std::vector<OpenbPod>> parse_openb_pods(std::string_view bytes, std::string_view file);

}  // namespace muster
