#include "ingest/kernel_names.h"

#include <algorithm>

namespace muster {

bool is_communication(std::string_view kernel) {
  // Names of the libraries, which their kernels carry, and of the all-reduces that inference engines bring along.
  constexpr std::string_view kParts[] = {"nccl",      "rccl",        "hccl",
                                         "deep_ep",   "::ep::",      "nvshmem",
                                         "mscclpp",   "msccl",       "oneccl",
                                         "AllReduce", "all_reduce_", "cross_device_reduce",
                                         "symm_mem",  "multimem_",   "custom_all_reduce"};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; });
}

}  // namespace muster
