// The bytes of PortInfo, NodeInfo and PortCounters, as the InfiniBand specification lays them out: big-endian.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::infiniband {

struct PortInfo {
  int lanes = 0;                                 // 0: not told
  std::string_view speed;                        // "HDR"; empty: not told
  double lane_gbit_s = 0;                        // signalled
  int lanes_could = 0;                           // the most this port is able to do
  std::uint8_t speeds = 0, speeds_extended = 0;  // it is able to do, as bits
  std::string_view logical, physical;            // "Active", "LinkUp"
};
// `capabilities`: the PortInfo that has the capability mask of this port: a switch's port 0, an adapter's own; empty: not told.
PortInfo decode_port_info(std::span<const std::uint8_t, 64> info, std::span<const std::uint8_t> capabilities);

// The fastest that both ends are able to do, in signalled gigabits a second of a lane; 0: not told.
double fastest_both(const PortInfo& a, const PortInfo& b);

struct NodeInfo {
  std::uint64_t system_guid = 0, port_guid = 0;
  std::uint16_t device = 0;
  std::uint32_t vendor = 0;
};
NodeInfo decode_node_info(std::span<const std::uint8_t, 64> info);

// Those that are not zero, by the names that perfquery gives them.
std::vector<std::pair<std::string_view, std::uint64_t>> decode_port_counters(std::span<const std::uint8_t> bytes);

}  // namespace muster::infiniband
