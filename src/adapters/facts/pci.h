// GPUs and NVSwitches as the PCI bus shows them, and what configuration space says of any device.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/facts/host.h"
#include "adapters/facts/sheet.h"

namespace muster::facts {

struct PciControl {
  std::uint32_t max_payload = 0, max_read_request = 0;  // bytes
  bool relaxed_ordering = false;
};
// Nothing: it may not be read (beyond the first 64 bytes root alone may), or the device is no PCI Express one. A few words are
// read, not all: each is a transfer over the bus.
std::optional<PciControl> pci_control(const Host& host, const std::string& folder);

struct PciGpu {
  std::string address, folder;  // "0000:1b:00.0", its folder in /sys with the / behind
};
// In order of their addresses, which is the order of the driver's own numbers where nobody changes it.
std::vector<PciGpu> find_gpus(const Host& host, Sheet& sheet);
void probe_gpu_links(const Host& host, const std::vector<PciGpu>& gpus, Sheet& sheet);
// Bridges above these devices, paths below /sys/devices; a count of those that redirect, or unreadable.
void probe_acs(const Host& host, const std::vector<std::string>& folders, Sheet& sheet);
// "hopper" for 0x2335; empty: nothing known.
std::string_view gpu_class(std::uint64_t device);

}  // namespace muster::facts
