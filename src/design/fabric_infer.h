// The regular structure that most of a network has: what its design probably was, where nobody kept it.
#pragma once
#include <vector>

#include "model/fabric.h"
#include "model/fabric_fault.h"

namespace muster::design {

struct InferredFabric {
  Fabric design;
  // What no design can hold: ports that all switches of a group leave empty between others that they use.
  std::vector<FabricFault> faults;
};

// Switches that share most of those above them are siblings: the same port of each leads to the same switch, and that knows
// each sibling by the same ports as its equals do. Network cards are cabled by their number in their node (rails), at the same
// port of each rail's leaf, where most are. Links run at what most between the same levels run at. Ports for aggregation are
// left out. What a node with a single network card should be cabled to, and what is missing at the end of a row, cannot be
// known.
InferredFabric infer_fabric(const Fabric& found);

}  // namespace muster::design
