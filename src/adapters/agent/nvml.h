// NVML: what the driver says of its GPUs. Both run in a probe's process and may never come back.
#pragma once
#include <functional>
#include <string>

namespace muster::agent {

// The state of all GPUs, in the lines of readings.h. What moves is read each time, the rest less often: each question costs the
// GPU's own processor and ours some time, and error counters need not be read more often than somebody looks at them.
std::string ask_nvml(const std::string& library);
// Waits for Xids and tells each at once, as "xid GPU CODE PCI". Never returns.
void watch_nvml(const std::string& library, const std::function<void(const std::string&)>& tell);

}  // namespace muster::agent
