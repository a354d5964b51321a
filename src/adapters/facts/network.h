// InfiniBand and RoCE devices, and network interfaces that are more than software.
#pragma once
#include <string>
#include <vector>

#include "adapters/facts/host.h"
#include "adapters/facts/sheet.h"

namespace muster::facts {

// Folders of the PCI devices behind them.
std::vector<std::string> probe_nics(const Host& host, const FactBook& book, Sheet& sheet);
void probe_interfaces(const Host& host, const FactBook& book, Sheet& sheet);
// "ConnectX-7" for MT4129; the type itself where it is not known.
std::string nic_model(std::string_view hca_type);

}  // namespace muster::facts
