// Which GPUs of a node are meant.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/acceptance.h"

namespace muster::bench {

// `wanted`: numbers, UUIDs, or PCI addresses in any spelling; empty: all. In the order of their numbers, each once.
Result<std::vector<int>> choose_gpus(std::span<const std::string> wanted, std::span<const accepting::Gpu> there);

}  // namespace muster::bench
