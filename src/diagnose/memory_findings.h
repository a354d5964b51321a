// What was seen in a GPU's memory, as findings with what to change.
#pragma once
#include <vector>

#include "diagnose/memory.h"

namespace muster::diagnose {

std::vector<Finding> memory_findings(const MemoryDiagnosis& diagnosis, const MemoryQuestion& question);

}  // namespace muster::diagnose
