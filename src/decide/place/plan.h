// Plan: the cluster's groups laid out so that each is a run of neighbouring positions. Never changes once made.
#pragma once
#include <cstdint>
#include <vector>

#include "decide/place/shape.h"

namespace muster::decide {

// The same cluster with groups that nest: domain within leaf, leaf within pod. A layout that nests already comes back as it is.
// Where one does not, the inner group is split along the outer one's borders: of a leaf in two pods, the part in the pod met
// first keeps its number and each other part gets a new one. Splitting the inner group is the safe side: pieces put together
// in a part are together in the whole, while joining the outer groups would promise nearness that the fabric does not have.
// The price is that "nothing lower fits" then speaks of the parts.
Layout nested(const Layout& layout);

namespace place {

// Offsets of runs: run i is [starts[i], starts[i + 1]).
using Starts = std::vector<std::uint32_t>;

struct Plan {
  explicit Plan(const Layout& layout);

  std::uint32_t nodes() const { return static_cast<std::uint32_t>(node_at.size()); }
  std::uint32_t domains() const { return static_cast<std::uint32_t>(domain_number.size()); }
  std::uint32_t leaves() const { return static_cast<std::uint32_t>(leaf_number.size()); }
  std::uint32_t pods() const { return static_cast<std::uint32_t>(pod_number.size()); }

  // By position: nodes sorted by pod, leaf, domain and number.
  std::vector<std::uint32_t> node_at;
  std::vector<std::uint32_t> domain_of, leaf_of;
  std::vector<std::uint16_t> gpus_mask;  // a bit for each GPU the node has
  std::vector<std::uint32_t> model;
  std::vector<std::uint64_t> pools;
  std::vector<std::uint32_t> first_gpu;  // of the node, among all GPUs
  std::uint32_t gpus = 0;

  std::vector<std::uint32_t> position_of;  // by node

  // Groups in the order of their positions; their own numbers are the (nested) layout's.
  Starts domain_nodes, leaf_nodes, leaf_domains, pod_leaves;
  std::vector<std::uint32_t> pod_of_leaf;
  std::vector<std::uint32_t> domain_number, leaf_number, pod_number;

  bool lone_domains = true;  // every NVLink domain is one node
};

}  // namespace place
}  // namespace muster::decide
