// What NVML alone knows of GPUs. Asking it opens them: on request, and never in the sweep.
#pragma once
#include <string>
#include <vector>

#include "adapters/facts/pci.h"
#include "adapters/facts/sheet.h"
#include "base/result.h"

namespace muster::facts {

// An error says why the library cannot be asked; then its facts are unreadable.
Result<void> probe_nvml(const std::string& library, const std::vector<PciGpu>& gpus, Sheet& sheet);

}  // namespace muster::facts
