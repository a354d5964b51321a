// The processors near a GPU: what a copy between host and GPU passes through. A process on the far socket measures the way
// between the sockets.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace muster::bench {

// "0-23,96-119", as the kernel writes it; nothing for what is no such list.
std::vector<int> parse_cpu_list(std::string_view text);
// Binds this process to the processors near the device, among those that it may use; does nothing where that is not known.
void stay_near(const std::string& pci, const std::string& root = "");

}  // namespace muster::bench
