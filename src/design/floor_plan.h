// Where the nodes and switches of a network stand, and how long the cable between two of them is.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/fabric.h"

namespace muster::design {

constexpr std::uint32_t kRackUnits = 42;

struct Spot {
  std::uint32_t row = 0, rack = 0;  // the rack's place in its row; both from 0
  std::uint32_t unit = 1;           // the lowest that it takes, from the floor
  bool operator==(const Spot&) const = default;
};

struct FloorAsk {
  std::uint32_t nodes_per_rack = 4;
  std::uint32_t node_units = 8;  // height of a node
  std::uint32_t racks_per_row = 16;
  std::uint32_t switches_per_rack = 16;  // in the network's own racks
};

struct FloorPlan {
  std::vector<Spot> spots;  // by node of the fabric; endpoints stand where their node does
  std::uint32_t racks = 0, rows = 0;
};

// Nodes fill racks in order, and racks fill rows. A leaf whose nodes all stand in one rack is on top of it; other leaves are in
// racks of their own in the middle of the row of their nodes, and all switches above them in the middle of the hall. `tiers`: by
// node of the fabric, 0 for endpoints, 1 for leaves. Endpoints come first in the fabric, the `nics` of a node one after the
// other.
FloorPlan lay_out(const Fabric& fabric, std::span<const std::uint8_t> tiers, std::uint32_t nics, const FloorAsk& ask);

// Up to the tray above the racks, along it and down again, with some slack; the next length that is sold.
double cable_length_m(const Spot& a, const Spot& b);

// "row02-rack07", counted from 1.
std::string rack_name(const Spot& spot);

}  // namespace muster::design
