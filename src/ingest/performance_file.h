// What nodes were measured at, as CSV: node and one column a measure.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/performance.h"

namespace muster {

// Cells that are empty or "-" were not measured. An error names file and line.
Result<NodePerformance> read_performance(std::string_view text, const std::string& file);

}  // namespace muster
