// Rolling upgrades: another version brought to every node while the cluster works. Canaries first, watched under load; then the
// rest, a few at a time: idle nodes, nodes whose work has just ended, and nodes whose gang moves at its checkpoint because it
// will not end in time. Each is drained, emptied, installed, tested and watched. What does more harm than chance would is stopped
// and taken back.
#pragma once
#include "decide/cluster_view.h"
#include "decide/decision.h"

namespace muster::decide {

// While one is at work it is looked at again after this, even if nothing happens.
constexpr Duration kUpgradeBeat = minutes(1);

void decide_upgrade(const State& s, ClusterView& view, Decisions& out);
// A version that does harm is on the node and will be taken from it: no repair helps before that.
bool to_be_taken_back(const State& s, NodeId n);

}  // namespace muster::decide
