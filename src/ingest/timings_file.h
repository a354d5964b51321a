// data/calibration/h200_kernels.csv and its like: what was measured on one GPU.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/timing.h"

namespace muster {

Result<std::vector<Timing>> parse_timings(std::string_view csv, std::string_view where = "timings.csv");
// The same of a file of shapes, whose times are not looked at.
Result<std::vector<Timing>> parse_shapes(std::string_view csv, std::string_view where = "shapes.csv");
// Where they were measured: what its lines "# gpu: ..." and "# software: ..." say; empty where there are none.
struct TimingsOrigin {
  std::string gpu;       // as it calls itself, "NVIDIA H200"
  std::string software;  // "PyTorch 2.11.0+cu130, CUDA 13.0, cuDNN 91900"
};
TimingsOrigin timings_origin(std::string_view csv);

// The file as it ships, and what was measured on an H200 in it.
std::string_view shipped_timings_file();
const std::vector<Timing>& shipped_timings();

}  // namespace muster
