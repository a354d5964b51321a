// The graph of a network: endpoints (ports of network cards), switches, and the cables between their ports.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster {

struct FabricNode {
  std::string name;        // untrusted where it was read
  std::uint64_t guid = 0;  // of an endpoint: its port's
  bool is_switch = false;
  std::vector<std::uint32_t> out;  // by number of port: the link that leaves there; kNoLink: nothing is plugged in
  std::uint16_t card_port = 1;     // of an endpoint: which port of its card it is
};

// One direction of a cable. Link i and link i ^ 1 are the two directions of one.
struct FabricLink {
  std::uint32_t from = 0, to = 0;  // nodes
  std::uint16_t port = 0;          // of `from`
  std::uint8_t lanes = 0;          // 0: not told
  double gb_s = 0;                 // bytes, one way
};

struct Fabric {
  static constexpr std::uint32_t kNoLink = UINT32_MAX;

  std::vector<FabricNode> nodes;
  std::vector<FabricLink> links;

  std::uint32_t add(FabricNode node);
  void connect(std::uint32_t a, std::uint16_t a_port, std::uint32_t b, std::uint16_t b_port, double gb_s,
               std::uint8_t lanes = 0);
  // Both directions of a link's cable. The links stay in their list, but nothing leads to them.
  void cut(std::uint32_t link);
  std::uint32_t out(std::uint32_t node, std::size_t port) const {
    const auto& ports = nodes[node].out;
    return port < ports.size() ? ports[port] : kNoLink;
  }
  std::vector<std::uint32_t> endpoints() const;  // in the order of their names
};

// Static routes: each switch has a table from a destination's address to a port.
struct ForwardingTables {
  static constexpr std::uint8_t kNoPort = 255;

  std::map<std::uint64_t, std::uint16_t> lids;                  // by guid of a port
  std::map<std::uint64_t, std::vector<std::uint8_t>> switches;  // by guid; ports by lid
};

}  // namespace muster
