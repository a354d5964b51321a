// Spots: where pieces of a gang could go within one group, counted by domain and leaf.
#pragma once
#include <map>
#include <set>
#include <span>
#include <vector>

#include "decide/moves/gang.h"

namespace muster::decide {

struct LeafFill {
  bool enough = false;
  std::map<std::uint32_t, std::uint32_t> pieces;  // by domain
  std::uint32_t leaves_min = 0;                   // those there are already, and the fewest further ones
};

class Spots {
 public:
  // Nodes in `without` offer nothing.
  Spots(const Tree& tree, const Layout& layout, const Shape& shape, Level level, std::uint32_t group,
        const std::set<NodeId>& without);

  std::uint32_t room() const { return room_; }  // pieces in all
  std::uint32_t room(std::uint32_t domain) const;
  std::uint32_t leaf(std::uint32_t domain) const { return domains_.at(domain).leaf; }
  std::vector<std::uint32_t> domains() const;  // with room

  // Places `segments` of `size` pieces, each within one domain, in the leaves there are already, then in as few others as can be;
  // `used` pieces of each domain are gone before. Of the other leaves the roomiest first, and for the last the tightest that
  // does.
  LeafFill fill_leaves(const std::set<std::uint32_t>& have, const std::map<std::uint32_t, std::uint32_t>& used,
                       std::uint32_t segments, std::uint32_t size) const;
  // Nodes for so many pieces within a domain, with how many each takes: those of the gang first, then the least costly, then
  // those with the least room, to keep the others whole.
  std::vector<std::pair<NodeId, std::uint32_t>> pick(std::uint32_t domain, std::uint32_t pieces,
                                                     std::span<const NodeId> own) const;

 private:
  struct Node {
    NodeId id;
    std::uint32_t room = 0;
    std::uint8_t cost = 0;
  };
  struct Domain {
    std::uint32_t leaf = 0;
    std::uint32_t room = 0;
    std::uint8_t cost = 0;  // of its most welcome node
    std::vector<Node> nodes;
  };
  std::map<std::uint32_t, Domain> domains_;
  std::uint32_t room_ = 0;
};

}  // namespace muster::decide
