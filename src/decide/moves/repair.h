// Repair: failed nodes of a running gang replaced near it, without evicting it; any number of them at once. And how many nodes to
// keep free for that.
#pragma once
#include <span>
#include <string>

#include "decide/moves/gang.h"

namespace muster::decide {

struct Replacement {
  NodeId node;  // new
  std::uint16_t slots = 0;
};

struct Repair {
  bool possible = false;
  std::vector<Replacement> in;  // in node order; a node that the gang already has may get more pieces
  std::vector<NodeId> out;      // the failed ones
  std::vector<NodeId> nodes;    // of the gang afterwards, in node order
  std::vector<std::uint16_t> slots;
  // The proof. Survivors stay where they are, so these are what any choice of spares is measured by:
  Level level = Level::node;     // lowest level of which one group holds the survivors and enough spares
  std::uint32_t leaves = 0;      // of the gang afterwards
  std::uint32_t leaves_min = 0;  // least for any choice of spares within that group
  std::uint32_t leaves_before = 0;
  // Pieces that spares in the survivors' group of each level below `level` could have taken, from Level::node up: too few, or in
  // the wrong domains. 0 where the survivors themselves lie in several groups.
  std::vector<std::uint32_t> spare_below;
  std::string why;  // in words; also why it is not possible
};

// The gang holds its nodes in the tree, failed ones included. Takes nothing.
//
// Fewest leaves, proven: survivors' leaves cost nothing, so they are filled first; of what is then left, no k further leaves hold
// more than the k roomiest, and the smallest k whose sum suffices is used. With segments the same holds, counted in segments: a
// domain with survivors in a broken segment must complete it itself, everything else goes in whole segments.
Repair plan_repair(const Tree& tree, const Layout& layout, const Gang& gang, std::span<const NodeId> failed);

struct SparesAsk {
  std::vector<std::uint32_t> group_nodes;  // nodes of each group (pods, or leaves where gangs must stay in one)
  std::vector<std::uint32_t> gang_nodes;   // of these, nodes used by gangs of several nodes; empty: all of them
  double failures_per_node_hour = 0;
  double repair_h = 0;       // from failure to return to service
  double confidence = 0.95;  // how often a failure is to find a spare
};
// Nodes to keep free per group. Nodes out at one moment are a Poisson variable (failures come independently, each keeps its node
// out for the repair time: the number in an M/G/inf queue), so the spares are its quantile; at most half of the group.
std::vector<std::uint32_t> spares_wanted(const SparesAsk& ask);

}  // namespace muster::decide
