// Networks from a few numbers, port by port: what a cabling plan, a simulator and a routing engine can work with.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "model/fabric.h"

namespace muster::design {

enum class FabricKind : std::uint8_t {
  fat_tree,   // nodes fill leaves one after the other
  rail,       // network card r of every node goes to leaf r of its unit
  dragonfly,  // groups of switches that all know each other, and groups that all know each other
};
constexpr std::array<std::string_view, 3> names(FabricKind) { return {"fat_tree", "rail", "dragonfly"}; }

struct FabricAsk {
  FabricKind kind = FabricKind::fat_tree;
  std::uint32_t nodes = 0;
  std::uint32_t nics = 8;       // of a node
  std::uint32_t radix = 64;     // ports of a switch
  std::uint32_t levels = 0;     // of a tree: 2 or 3; 0: as few as reach
  double oversubscription = 1;  // ports down over ports up, of a leaf
  double gb_s = 50;             // of a port, bytes one way
};

// Endpoints are named "node00012 mlx5_3", so that their order by name is by node and then by card.
Result<Fabric> build_fabric(const FabricAsk& ask);

// Network cards that a leaf of a tree has ports for.
std::uint32_t leaf_ports_down(const FabricAsk& ask);
// How many switches a tree takes; 0: it cannot be built.
std::uint64_t tree_switches(const FabricAsk& ask);

}  // namespace muster::design
