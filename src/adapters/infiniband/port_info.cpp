#include "adapters/infiniband/port_info.h"

#include <algorithm>
#include <bit>

namespace muster::infiniband {
namespace {

std::uint64_t big_endian(std::span<const std::uint8_t> bytes, std::size_t at, std::size_t size) {
  std::uint64_t v = 0;
  for (std::size_t i = 0; i < size; ++i) v = v << 8U | bytes[at + i];
  return v;
}

// Widths and speeds are one bit each. 8 and 2 lanes were added later, so their order is not that of the bits.
int lanes(unsigned bits) {
  for (const auto& [bit, n] : {std::pair(8U, 12), {4U, 8}, {2U, 4}, {16U, 2}, {1U, 1}}) {
    if ((bits & bit) != 0) return n;
  }
  return 0;
}

struct Speed {
  std::string_view name;
  double gbit_s;
};
constexpr Speed kSpeeds[] = {{"SDR", 2.5}, {"DDR", 5}, {"QDR", 10}};
constexpr Speed kExtended[] = {{"FDR", 14.0625}, {"EDR", 25.78125}, {"HDR", 53.125}, {"NDR", 106.25}, {}, {"XDR", 212.5}};

constexpr std::uint32_t kHasExtended = 0x4000, kHasSecondMask = 0x8000;
constexpr std::uint32_t kHasExtended2 = 0x0800;  // of the second mask

Speed fastest(unsigned bits, unsigned extended) {
  for (std::size_t i = std::size(kExtended); i-- > 0;) {
    if ((extended >> i & 1U) != 0 && !kExtended[i].name.empty()) return kExtended[i];
  }
  for (std::size_t i = std::size(kSpeeds); i-- > 0;) {
    if ((bits >> i & 1U) != 0) return kSpeeds[i];
  }
  return {};
}

std::string_view state(unsigned n) {
  constexpr std::string_view kStates[] = {"NoChange", "Down", "Initialize", "Armed", "Active"};
  return n < std::size(kStates) ? kStates[n] : "?";
}
std::string_view physical_state(unsigned n) {
  constexpr std::string_view kStates[] = {
      "NoChange", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "PhyTest"};
  return n < std::size(kStates) ? kStates[n] : "?";
}

}  // namespace

PortInfo decode_port_info(std::span<const std::uint8_t, 64> info, std::span<const std::uint8_t> capabilities) {
  PortInfo out;
  out.logical = state(info[32] & 15U);
  out.physical = physical_state(info[33] >> 4U);
  out.lanes_could = lanes(info[30]);
  out.speeds = static_cast<std::uint8_t>(info[32] >> 4U);
  unsigned active = 0;
  if (capabilities.size() >= 64 && (big_endian(capabilities, 20, 4) & kHasExtended) != 0) {
    active = info[62] >> 4U;
    out.speeds_extended = info[62] & 15U;
    const bool second =
        (big_endian(capabilities, 20, 4) & kHasSecondMask) != 0 && (big_endian(capabilities, 60, 2) & kHasExtended2) != 0;
    if (second) {
      const unsigned newer = info[56] >> 5U & 3U;
      if (newer != 0) active = newer << 5U;
      out.speeds_extended = static_cast<std::uint8_t>(out.speeds_extended | (info[56] >> 3U & 3U) << 5U);
    }
  }
  // While a port is down all but its states may be anything.
  if (out.logical == "Down") return out;
  out.lanes = lanes(info[31]);
  const Speed speed = fastest(info[35] >> 4U, active);
  out.speed = speed.name;
  out.lane_gbit_s = speed.gbit_s;
  return out;
}

double fastest_both(const PortInfo& a, const PortInfo& b) {
  return fastest(a.speeds & b.speeds, a.speeds_extended & b.speeds_extended).gbit_s;
}

NodeInfo decode_node_info(std::span<const std::uint8_t, 64> info) {
  return {big_endian(info, 4, 8), big_endian(info, 20, 8), static_cast<std::uint16_t>(big_endian(info, 30, 2)),
          static_cast<std::uint32_t>(big_endian(info, 37, 3))};
}

std::vector<std::pair<std::string_view, std::uint64_t>> decode_port_counters(std::span<const std::uint8_t> bytes) {
  struct Counter {
    std::string_view name;
    std::uint8_t at, size;
  };
  static constexpr Counter kCounters[] = {{"SymbolErrorCounter", 4, 2},
                                          {"LinkErrorRecoveryCounter", 6, 1},
                                          {"LinkDownedCounter", 7, 1},
                                          {"PortRcvErrors", 8, 2},
                                          {"PortRcvRemotePhysicalErrors", 10, 2},
                                          {"PortRcvSwitchRelayErrors", 12, 2},
                                          {"PortXmitDiscards", 14, 2},
                                          {"PortXmitConstraintErrors", 16, 1},
                                          {"PortRcvConstraintErrors", 17, 1},
                                          {"QP1Dropped", 20, 2},
                                          {"VL15Dropped", 22, 2},
                                          {"PortXmitData", 24, 4},
                                          {"PortRcvData", 28, 4},
                                          {"PortXmitPkts", 32, 4},
                                          {"PortRcvPkts", 36, 4},
                                          {"PortXmitWait", 40, 4}};
  std::vector<std::pair<std::string_view, std::uint64_t>> out;
  if (bytes.size() < 44) return out;
  const auto add = [&](std::string_view name, std::uint64_t value) {
    if (value > 0) out.emplace_back(name, value);
  };
  for (const Counter& c : kCounters) add(c.name, big_endian(bytes, c.at, c.size));
  add("LocalLinkIntegrityErrors", bytes[19] >> 4U);
  add("ExcessiveBufferOverrunErrors", bytes[19] & 15U);
  return out;
}

}  // namespace muster::infiniband
