// OpenSM's log: by which engine the fabric is routed and which could not, ports that came and went, devices with the same GUID.
#pragma once
#include <string_view>

#include "model/fabric_readings.h"

namespace muster {

constexpr std::size_t kSubnetLogTextMax = 240;      // bytes of a line kept
constexpr std::size_t kSubnetLogRoutingsMax = 256;  // the last ones
constexpr std::size_t kSubnetLogPortsMax = 4096;    // likewise
constexpr std::size_t kSubnetLogEvidenceMax = 16;   // of one routing
constexpr std::size_t kSubnetLogCodesMax = 256;
constexpr std::size_t kSubnetLogDuplicatesMax = 256;

// Also takes what OpenSM prints on its terminal, where the engines that were asked for are named, and `routing_engine` of its
// configuration: the three may stand one after the other in one text.
SubnetLog parse_opensm_log(std::string_view text);

}  // namespace muster
