// Tree: what is free, per group of every level, kept so that a gang is placed in microseconds whatever the size of the cluster.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "decide/place/lens.h"
#include "decide/place/plan.h"
#include "decide/place/shape.h"

namespace muster::decide {

// What is taken, by node, for those who check the tree or draw it.
struct Occupancy {
  struct Node {
    std::uint16_t free = 0;  // GPUs of which nothing is taken
    bool open = true;
    std::uint8_t cost = 0;
    std::vector<std::uint16_t> taken;  // thousandths of each GPU, 0 to 1000
    auto operator<=>(const Node&) const = default;
  };
  std::vector<Node> nodes;
  auto operator<=>(const Occupancy&) const = default;
};

// A value: a copy is a cluster of its own. Not for two threads at once, because find() brings its counts up to date.
class Tree {
 public:
  explicit Tree(const Layout& layout);

  // Occupancy. `milli` below 1000: a share of one GPU. Giving back what was not taken is a programmer's error.
  void take(NodeId n, std::uint16_t slots, std::uint32_t milli = 1000);
  void give(NodeId n, std::uint16_t slots, std::uint32_t milli = 1000);
  void take(const Choice& c, std::uint32_t milli = 1000);
  void give(const Choice& c, std::uint32_t milli = 1000);
  // A closed node takes nothing new (drained, down, over a power cap); what is on it stays on it. Closing twice is closing once.
  void close(NodeId n);
  void open(NodeId n);
  bool is_open(NodeId n) const;
  // How unwelcome a node is, 0 (best) to 255: poor links, heat, busy neighbours. Never outweighs level or leaves,
  // but comes before the tight fit: costs that differ a little everywhere scatter the free nodes. Leave an ordinary node at 0.
  void set_cost(NodeId n, std::uint8_t cost);
  std::uint8_t cost(NodeId n) const;

  // On which side of an upgrade the node is: bits of kHasIt, kWaits and kFewer. Not undone by rollback(): it is not tried, it is
  // so.
  void set_side(NodeId n, std::uint8_t side);
  std::uint8_t side(NodeId n) const;
  // No gang gets nodes of sides that are in `part` and of sides that are not (masks; 0: it may). What is looked for on sides of
  // `together` alone is not kept apart.
  void keep_apart(std::uint8_t part, std::uint8_t together = 0) {
    apart_ = part;
    together_ = together;
  }
  std::uint8_t kept_apart() const { return apart_; }

  // Where the gang would go: lowest feasible domain, fewest leaves inside it, least cost, tightest fit. Takes nothing.
  std::optional<Choice> find(const Shape& shape) const;
  // A quick no: false only when find() would find nothing.
  bool may_fit(const Shape& shape) const;
  // Whether an empty, fully open cluster would hold it.
  bool ever_fits(const Shape& shape) const;

  // Changes after mark() are undone by rollback(): reservations are found by trying the future. Marks nest, and a mark ends
  // with its rollback() or release(), which keeps the changes; both end the marks made after it too. Call mark() again to go on.
  std::size_t mark();
  void rollback(std::size_t mark);
  void release(std::size_t mark);

  std::uint32_t nodes() const;
  std::uint32_t free_gpus() const;           // wholly free ones on open nodes
  std::uint32_t free_nodes() const;          // wholly free open nodes
  std::uint32_t free_slots(NodeId n) const;  // bit mask of wholly free GPUs, of a closed node too
  Occupancy occupancy() const;

 private:
  enum class Act : std::uint8_t { take, give, close, open, cost };
  struct Change {
    Act act;
    std::uint8_t old_cost;
    std::uint16_t slots;
    std::uint16_t milli;
    std::uint32_t position;
  };
  struct SharedGpu {
    std::uint16_t free;  // thousandths
    std::uint32_t position;
    std::uint32_t slot;
    auto operator<=>(const SharedGpu&) const = default;
  };
  struct Kept {
    place::Lens lens;
    std::uint64_t seen;   // changes it knows of
    std::uint64_t asked;  // when it was last looked through
  };

  void apply_take(std::uint32_t position, std::uint16_t slots, std::uint32_t milli);
  void apply_give(std::uint32_t position, std::uint16_t slots, std::uint32_t milli);
  void apply_open(std::uint32_t position, bool open);
  void share(std::uint32_t position, std::uint32_t slot, std::int32_t milli);
  void note(Act act, std::uint32_t position, std::uint16_t slots = 0, std::uint32_t milli = 0, std::uint8_t old_cost = 0);
  void set_free(std::uint32_t position, std::uint16_t now);
  void touch(std::uint32_t position);
  const place::Lens& lens_for(const place::Kind& kind) const;
  bool sensible(const Shape& shape) const;
  std::optional<Choice> find_shared(const Shape& shape) const;
  std::optional<Choice> find_apart(const Shape& shape) const;
  bool spans_sides(const Shape& shape) const;

  std::shared_ptr<const place::Plan> plan_;
  place::Books books_;
  std::uint32_t free_gpus_ = 0;
  std::uint32_t free_nodes_ = 0;
  std::uint8_t apart_ = 0;              // mask of sides, see keep_apart()
  std::uint8_t together_ = 0;           // likewise
  std::uint32_t costly_ = 0;            // nodes with a cost
  std::uint32_t sharing_ = 0;           // GPUs with shares on them
  std::vector<SharedGpu> shared_;       // GPUs with something on them and something left, tightest first
  std::vector<Change> undo_;            // since the outermost mark
  std::vector<std::size_t> marks_;      // lengths of undo_
  std::vector<std::uint32_t> changed_;  // positions, for lenses that have not been looked through since
  std::uint64_t changes_before_ = 0;    // dropped from the front of changed_
  mutable std::vector<Kept> lenses_;
  mutable std::uint64_t asked_ = 0;
};

}  // namespace muster::decide
