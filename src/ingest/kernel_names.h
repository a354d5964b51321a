// What a GPU kernel does, by its name.
#pragma once
#include <string_view>

namespace muster {

// Of NCCL, RCCL, HCCL, oneCCL, NVSHMEM, MSCCL++, DeepEP, or one of the engines' own all-reduces.
bool is_communication(std::string_view kernel);

}  // namespace muster
