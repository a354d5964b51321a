// NVML, opened at run time: what the driver says of each GPU, in dcgm-exporter's names. Runs in a probe's process, because any of
// these calls may never return.
#pragma once
#include <string>

namespace muster::agent {

// One answer in the lines of readings.h. The library is opened at the first call and kept; where it is missing, "node nvml
// absent" and the reason is all there is. `library` is what dlopen gets.
std::string ask_nvml(const std::string& library);

}  // namespace muster::agent
