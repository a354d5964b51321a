// Tables of power: what models of GPU draw where nobody measures them, and what was measured under power caps.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gpu_hold.h"
#include "model/power_cap.h"

namespace muster {

// data/energy/gpu_watts.csv and data/energy/power_caps.csv.
const std::vector<GpuWatts>& shipped_gpu_watts();
const std::vector<CapPoint>& shipped_power_caps();

Result<std::vector<GpuWatts>> parse_gpu_watts(std::string_view text, std::string_view file);
// Columns gpu, bound, cap_w, time_ratio and energy_ratio as shipped; or one's own measurement: cap_w, throughput and power_w,
// whose highest cap counts as none. Rows by GPU, bound and cap, the highest cap first. Errors are "file:line: reason".
Result<std::vector<CapPoint>> parse_power_caps(std::string_view text, std::string_view file);

}  // namespace muster
