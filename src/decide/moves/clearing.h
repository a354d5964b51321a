// Orders in which greedy preemption stops gangs: node by node, domain by domain, cheapest first.
#pragma once
#include <span>
#include <vector>

#include "decide/moves/gang.h"

namespace muster::decide {

struct Candidate {
  const Gang* gang = nullptr;
  std::int64_t loss = 0;  // GPU-ms
  std::int64_t gpus = 0;  // it would free in the group now looked at
  bool borrowed = false;  // may be stopped only while its queue is beyond its guarantee
};

// By loss over GPUs freed, ties by id.
bool cheaper_per_gpu(const Candidate& a, const Candidate& b);
// GPUs of a node that such a gang could use, free now.
std::uint32_t free_gpus(const Tree& tree, const Layout& layout, const Shape& shape, NodeId n);
std::uint32_t piece_gpus(const Layout& layout, const Shape& shape, NodeId n);

// Clears the node that gives one more piece for the least loss, again and again, counting what its gangs free on the other nodes.
// Whom that leaves comes last.
std::vector<Candidate> by_node(const Tree& tree, const Layout& layout, const Shape& shape, std::span<const NodeId> nodes,
                               std::span<const Candidate> candidates);
// Whole NVLink domains, those cheapest by the GPU first: segments need them.
std::vector<Candidate> by_domain(const Layout& layout, std::span<const Candidate> candidates);

}  // namespace muster::decide
