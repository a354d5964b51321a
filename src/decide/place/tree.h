// Tree: what is free, per group of every level, kept so that a gang is placed in microseconds whatever the size of the cluster.
#pragma once
#include <optional>

#include "decide/place/shape.h"

namespace muster::decide {

class Tree {
 public:
  explicit Tree(const Layout& layout);

  // Occupancy. `milli` below 1000: a share of one GPU. Giving back what was not taken is a programmer's error.
  void take(NodeId n, std::uint16_t slots, std::uint32_t milli = 1000);
  void give(NodeId n, std::uint16_t slots, std::uint32_t milli = 1000);
  void take(const Choice& c, std::uint32_t milli = 1000);
  void give(const Choice& c, std::uint32_t milli = 1000);
  // A closed node takes nothing new (drained, down, over a power cap); what is on it stays on it.
  void close(NodeId n);
  void open(NodeId n);
  // How unwelcome a node is, 0 (best) to 255: poor links, heat, busy neighbours. Never outweighs level or leaves.
  void set_cost(NodeId n, std::uint8_t cost);

  // Where the gang would go: lowest feasible domain, fewest leaves inside it, least cost, tightest fit. Takes nothing.
  std::optional<Choice> find(const Shape& shape) const;
  // A quick no: false only when find() would find nothing.
  bool may_fit(const Shape& shape) const;
  // Whether an empty, fully open cluster would hold it.
  bool ever_fits(const Shape& shape) const;

  // Changes after mark() are undone by rollback(): reservations are found by trying the future. Marks nest.
  std::size_t mark();
  void rollback(std::size_t mark);

  std::uint32_t nodes() const;
  std::uint32_t free_gpus() const;     // wholly free ones on open nodes
  std::uint32_t free_nodes() const;    // wholly free open nodes
  std::uint32_t free_slots(NodeId n) const;  // bit mask of wholly free GPUs
};

}  // namespace muster::decide
