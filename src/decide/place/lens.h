// Lens: the cluster as one kind of piece sees it: how many of them each node, domain, leaf and pod could take now.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "decide/place/plan.h"
#include "decide/place/ranks.h"

namespace muster::decide::place {

// What is taken, by position.
struct Books {
  std::vector<std::uint16_t> free;  // GPUs of which nothing is taken
  std::vector<std::uint8_t> open;   // the bit of its side, 0 where it is closed: one look tells both
  std::vector<std::uint8_t> cost;
  std::vector<std::uint8_t> side;     // of an upgrade, 0 to 7
  std::vector<std::uint16_t> shared;  // by GPU: thousandths taken by shares; 0 when wholly free or taken as a whole
};

// Shapes that differ only in the number of pieces and the level look through the same lens.
struct Kind {
  std::uint32_t gpus = 0;  // 0: the whole node
  std::uint32_t milli = 1000;
  std::uint32_t segment = 1;
  std::uint32_t model = kAnyModel;
  std::uint32_t pool = kAnyPool;
  std::uint8_t sides = kAnySide;
  auto operator<=>(const Kind&) const = default;
};

Kind kind_of(const Shape& shape);

// How a group's room is counted when pieces go in segments of s. A domain that could take d pieces has d / s places for whole
// segments and, when all of these are used, d % s pieces over. A group therefore takes at most
//     s * (sum of d / s over its domains) + (largest d % s among them)
// pieces, and takes any number up to that: with fewer whole segments, the last, short one finds a whole segment's place. So a
// leaf is described by one number, its room in pieces, from which both parts come back as room / s and room % s.
class Lens {
 public:
  Lens(const Plan& plan, const Books& books, const Kind& kind);

  // Positions at which something has changed since; any order, repeats allowed.
  void refresh(const Plan& plan, const Books& books, std::span<const std::uint32_t> changed);

  const Kind& kind() const { return kind_; }
  std::uint32_t node_room(std::uint32_t position) const { return node_room_[position]; }
  std::uint32_t node_room_max() const;
  const Ranks& domains() const { return domains_; }  // empty where every domain is a node
  const Ranks& leaves() const { return leaves_; }
  std::uint32_t pod_room(const Plan& plan, std::uint32_t pod) const;
  std::uint32_t core_room(const Plan& plan) const;

  // The leaves of a pod from the largest room down, ties by leaf.
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t room() const { return static_cast<std::uint32_t>(key >> 32); }
    std::uint32_t leaf() const { return UINT32_MAX - static_cast<std::uint32_t>(key); }
    auto operator<=>(const Entry&) const = default;
  };
  std::span<const Entry> order(const Plan& plan, std::uint32_t pod) const {
    return {order_.data() + plan.pod_leaves[pod], plan.pod_leaves[pod + 1] - plan.pod_leaves[pod]};
  }
  // These three are not kept for whole-node kinds. Leaves with a node of which exactly `free` GPUs are free come as a bitmap.
  std::span<const std::uint64_t> leaves_with(std::uint32_t free) const {
    return {with_free_.data() + std::size_t{free} * leaf_words_, leaf_words_};
  }
  std::uint32_t whole_nodes(std::uint32_t leaf) const { return whole_[leaf]; }
  std::uint32_t node_free(std::uint32_t position) const { return node_free_[position]; }
  // First position at or after `from` that has room; `to` when none before it.
  std::uint32_t next_with_room(std::uint32_t from, std::uint32_t to) const;

  // Of an empty, fully open cluster: most pieces in one group of a level, and fewest leaves for so many.
  std::uint32_t empty_room(Level level) const { return empty_room_[static_cast<std::size_t>(level)]; }
  std::uint32_t empty_leaves(std::uint32_t pieces, Level required) const;

 private:
  std::uint32_t room_at(const Plan& plan, const Books& books, std::uint32_t position) const;
  void build_empty(const Plan& plan);
  void note_free(const Plan& plan, const Books& books, std::uint32_t position);
  void settle_leaf(const Plan& plan, std::uint32_t leaf, std::int64_t change);

  Kind kind_;
  std::vector<std::uint8_t> node_room_;   // by position
  std::vector<std::uint8_t> node_free_;   // GPUs free for this kind, 0 where closed or of another model or pool
  std::vector<std::uint64_t> with_room_;  // bitmap of positions
  std::array<std::uint32_t, 17> nodes_by_room_{};
  Ranks domains_, leaves_;
  std::vector<std::uint32_t> pod_places_;  // whole segments
  std::uint64_t core_places_ = 0;
  std::vector<Entry> order_;
  std::uint32_t leaf_words_ = 0;
  std::vector<std::uint64_t> with_free_;                // [free][word]
  std::vector<std::array<std::uint32_t, 17>> by_free_;  // nodes of a leaf by free GPUs
  std::vector<std::uint32_t> whole_;
  std::array<std::uint32_t, kLevels> empty_room_{};
  std::vector<std::uint32_t> empty_pod_, empty_core_;  // most pieces in so many leaves, less one, of a pod and of all
};

}  // namespace muster::decide::place
