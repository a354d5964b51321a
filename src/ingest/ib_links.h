// `iblinkinfo`: every port of an InfiniBand fabric with its state, what it runs at, what it could, and where its cable ends.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/fabric.h"
#include "model/fabric_readings.h"

namespace muster {

constexpr std::size_t kIbLinksMax = 1U << 21;

struct IbLinks {
  std::vector<PortState> ports;
  std::uint32_t not_understood = 0;  // lines
  std::uint32_t left_out = 0;
};

// Both forms: one line for each port (-l) and ports below their nodes. The tool does not say in the first which nodes are
// switches; those with several ports of one GUID are.
IbLinks parse_ib_links(std::string_view text);

// The fabric that these ports make up. Cables of which only one end is told of are in it; ports that are down are not.
Result<Fabric> links_fabric(std::span<const PortState> ports);

}  // namespace muster
