// Measures kernels on a GPU of this machine. PyTorch does it, in a process of its own: what it launches is what training
// launches, and a machine without a GPU needs none of it.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::cmd {

// `shapes` and what comes back are timings files. What it is at goes to stderr.
Result<std::string> sweep_gpu(const std::string& python, std::string_view shapes);

}  // namespace muster::cmd
