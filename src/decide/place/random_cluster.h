// Random small clusters, shapes and churn for the tests of placement. Used by tests only.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "decide/place/tree.h"

namespace muster::decide {

// Leaf groups of 1 to 11 nodes, NVLink domains that are the node, part of a leaf or the leaf, nodes of two models, in some of
// three pools, and of 4 or 8 GPUs. One cluster in eight has groups that do not nest.
inline Layout random_layout(Prng& r, std::uint32_t leaves_max = 9) {
  Layout out;
  out.models = {"a", "b"};
  const auto leaves = static_cast<std::uint32_t>(1 + r.below(leaves_max));
  const auto pods = static_cast<std::uint32_t>(1 + r.below(3));
  const std::uint64_t domain_style = r.below(3);
  const std::uint64_t gpu_style = r.below(3);
  std::uint32_t domain = 0;
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    const auto nodes = static_cast<std::uint32_t>(1 + r.below(11));
    const auto width = static_cast<std::uint32_t>(domain_style == 0 ? 1 : domain_style == 1 ? 1 + r.below(5) : nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const std::uint32_t gpus = gpu_style == 0 ? 8 : gpu_style == 1 ? 4 : r.chance(0.5) ? 4 : 8;
      out.nodes.push_back({domain + i / width, leaf, leaf * pods / leaves, gpus, r.chance(0.3) ? 1U : 0U, r.below(8)});
    }
    domain += (nodes + width - 1) / width;
  }
  if (r.chance(0.125)) {
    for (auto& n : out.nodes) {
      if (r.chance(0.1)) n.leaf = static_cast<std::uint32_t>(r.below(leaves));
    }
  }
  if (r.chance(0.25)) {  // node numbers that do not follow the groups
    for (std::size_t i = out.nodes.size(); i > 1; --i) std::swap(out.nodes[i - 1], out.nodes[r.below(i)]);
  }
  return out;
}

inline Shape random_shape(Prng& r) {
  Shape s;
  s.pieces = static_cast<std::uint32_t>(1 + r.below(r.chance(0.5) ? 4 : 30));
  const std::uint64_t style = r.below(10);
  if (style >= 5) s.gpus = static_cast<std::uint32_t>(1 + r.below(8));
  if (style == 9) {
    s.gpus = 1;
    s.milli = static_cast<std::uint32_t>(50 * (1 + r.below(19)));
    if (r.chance(0.7)) s.pieces = 1;
  }
  if (r.chance(0.3)) s.segment = static_cast<std::uint32_t>(1 + r.below(6));
  if (r.chance(0.3)) s.required = static_cast<Level>(r.below(kLevels));
  if (r.chance(0.2)) s.model = static_cast<std::uint32_t>(r.below(2));
  if (r.chance(0.2)) s.pool = static_cast<std::uint32_t>(r.below(3));
  return s;
}

struct Running {
  Choice choice;
  std::uint32_t milli = 1000;
};

// One random act: place, end, close, open, change a cost.
inline void churn(Tree& tree, std::vector<Running>& running, Prng& r, bool costs) {
  const NodeId n{static_cast<std::uint32_t>(r.below(tree.nodes()))};
  const std::uint64_t act = r.below(20);
  if (act < 11) {
    const Shape s = random_shape(r);
    if (auto c = tree.find(s)) {
      tree.take(*c, s.milli);
      running.push_back({std::move(*c), s.milli});
    }
  } else if (act < 17) {
    if (running.empty()) return;
    const auto at = static_cast<std::ptrdiff_t>(r.below(running.size()));
    tree.give(running[static_cast<std::size_t>(at)].choice, running[static_cast<std::size_t>(at)].milli);
    running.erase(running.begin() + at);
  } else if (act == 17) {
    tree.close(n);
  } else if (act == 18) {
    tree.open(n);
  } else if (costs) {
    tree.set_cost(n, static_cast<std::uint8_t>(r.below(256)));
  }
}

}  // namespace muster::decide
