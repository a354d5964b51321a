// The process that asks NVML. It alone loads that library: a driver that hangs hangs this process, and the bench goes on without.
#pragma once
#include <string>

namespace muster::bench {

// Answers until it is told to end, or nobody is there to tell. While it samples, readings come the more seldom the longer it
// lasts, down to one a second: a recording of a day is as large as ten of ten minutes.
[[noreturn]] void watch_driver(int socket, const std::string& library, double reading_s);

}  // namespace muster::bench
