// The tree that schedulers place jobs by, from the graph of any fabric: for Slurm and for Kubernetes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/fabric.h"
#include "report/slurm_files.h"

namespace muster::report {

struct TopologySwitch {
  std::string name;                  // its own where that is plain and nobody else's, otherwise by its GUID
  std::vector<std::string> nodes;    // of a leaf; ascending, each once
  std::vector<std::uint32_t> below;  // switches, by their places in the list
  std::uint32_t tier = 0;            // leaves are 0
};

struct FabricTopology {
  std::vector<TopologySwitch> switches;      // leaves first, and then tier by tier
  std::uint32_t unnamed_cards = 0;           // whose descriptions are no "HOST CARD": they are of no node
  std::uint32_t torn_nodes = 0;              // with cards in leaves that lead to different nodes: they are under the first
  std::vector<std::string> nodes_on_spines;  // plugged in above the leaves alone: they have leaves of their own, NAME-hosts
  bool joined = false;                       // the last switch is none: it only stands above those that nothing joins
};

// A switch with cards of nodes is a leaf, unless it has many times as many cables to leaves with many times as many nodes: then a
// node or two are plugged into a spine. A switch above is one that is cabled to the tier below. Those of one tier that lead to
// the same things are one, as the leaves of all rails of a unit and the spines of a pod are, and so is one that leads to a part
// of what another does: there a cable is missing.
Result<FabricTopology> fabric_topology(const Fabric& fabric);

std::vector<SlurmSwitch> slurm_switches(const FabricTopology& topology);

// Documents for `kubectl apply`: each node with the switches above it, nearest first, under the keys of NVIDIA's topograph
// (fabric.topograph.run/tier-N, and network.topology.nvidia.com/block, spine and datacenter of its releases before 1.0).
// `domain_nodes`: so many nodes in order share one NVLink domain; 1: each is its own, which needs no label.
std::string render_node_labels(const FabricTopology& topology, std::uint32_t domain_nodes = 1);

}  // namespace muster::report
