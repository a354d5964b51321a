// NVIDIA's driver: what is loaded, what the next load would take, which firmware and which CUDA go with it, and what it says of
// each GPU in /proc, without opening one.
#pragma once
#include <string_view>
#include <vector>

#include "adapters/facts/host.h"
#include "adapters/facts/pci.h"
#include "adapters/facts/sheet.h"

namespace muster::facts {

void probe_driver(const Host& host, Sheet& sheet);
void probe_gpu_words(const Host& host, const std::vector<PciGpu>& gpus, Sheet& sheet);
// "13.0" for "580.159.04": the newest CUDA of a branch; empty: not known.
std::string_view cuda_of_driver(std::string_view version);

}  // namespace muster::facts
