// Placer: whole-node gangs on the fewest leaf switches, first in, first out. It keeps the free nodes of every leaf at hand, so
// that a placement costs a few comparisons, whatever the size of the cluster.
//
// Fewest leaves, proven: let the leaves' free counts be f1 >= f2 >= ... A choice of k leaves holds at most f1 + ... + fk nodes,
// so no choice with f1 + ... + fk < n works, and the smallest k with f1 + ... + fk >= n does: take the k-1 largest, and for the
// rest any leaf that still fits. The placer uses exactly that k; among choices with k leaves it prefers one pod, and then the
// leaf that fits tightest, to keep large holes whole.
#pragma once
#include <optional>
#include <set>
#include <vector>

#include "model/state.h"

namespace muster::decide {

class Placer {
 public:
  // Takes over the changes of s.dirty_nodes; builds everything on the first call or for another site.
  void update(const State& s);

  struct Choice {
    std::vector<NodeId> nodes;  // in node order
    Placement placement;
  };
  // Nodes for a gang, or nothing when there are too few. They are marked taken until the next update says otherwise.
  std::optional<Choice> place(std::uint32_t nodes);
  std::uint32_t free() const { return free_; }

 private:
  struct Leaf {
    std::uint32_t pod = 0;
    std::set<NodeId> free;
  };
  // Leaves by (free nodes, leaf), smallest first; of all leaves, and per pod.
  using Order = std::set<std::pair<std::uint32_t, std::uint32_t>>;

  void set_free(NodeId n, bool is_free);
  static std::uint32_t leaves_needed(const Order& order, std::uint32_t nodes);  // 0: do not fit
  Choice take(const Order& order, std::uint32_t nodes, std::uint32_t leaves, std::string why);

  std::vector<Leaf> leaves_;
  std::vector<std::uint32_t> leaf_of_;
  std::vector<std::uint32_t> pod_free_;
  Order all_;
  std::vector<Order> pods_;
  std::uint32_t free_ = 0;
};

}  // namespace muster::decide
