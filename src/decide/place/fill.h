// Filling: which nodes of a leaf, once it is known how many pieces the leaf takes.
#pragma once
#include <cstdint>
#include <vector>

#include "decide/place/lens.h"

namespace muster::decide::place {

struct Pick {
  std::uint32_t position = 0;
  std::uint32_t pieces = 0;
};

// What a search reads. Costs are looked at only where some node has one.
struct Sight {
  const Plan& plan;
  const Books& books;
  const Lens& lens;
  bool costly = false;
};

// Appends the nodes that take `pieces` pieces of a leaf that has room for them. With segments, as many whole segments as the
// number holds, then the short one. Nodes and domains in use already come first, so that whole ones stay whole.
void fill_leaf(const Sight& sight, std::uint32_t leaf, std::uint32_t pieces, std::vector<Pick>& out);

// The same within one run of positions (a domain, or a leaf whose domains are its nodes).
void fill_run(const Sight& sight, std::uint32_t begin, std::uint32_t end, std::uint32_t pieces, std::vector<Pick>& out);

// Sum over the picks of a node's cost times the pieces on it.
std::uint64_t cost_of(const Sight& sight, const std::vector<Pick>& picks);

// `gpus` of the GPUs free on a node: out of the aligned half or quarter that has the fewest to spare, lowest first, because
// GPUs of the same half share a CPU socket and its network cards.
std::uint16_t pick_slots(std::uint16_t free, std::uint32_t gpus);

}  // namespace muster::decide::place
