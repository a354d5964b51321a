// data/calibration/h200_kernels.csv and its like: what was measured on one GPU.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/timing.h"

namespace muster {

Result<std::vector<Timing>> parse_timings(std::string_view csv, std::string_view where = "timings.csv");
// Those of the H200 that ship with the program.
const std::vector<Timing>& shipped_timings();

}  // namespace muster
