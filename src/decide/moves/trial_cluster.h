// A small random cluster with gangs on it, for the tests of moves.
#pragma once
#include "base/prng.h"
#include "decide/moves/gang.h"

namespace muster::decide {

struct TrialCluster {
  Layout layout;
  std::vector<Gang> gangs;

  Tree tree() const {
    Tree t(layout);
    for (const Gang& g : gangs) take(t, g);
    return t;
  }
};

// Ragged leaves of 1 to 4 nodes in up to 3 pods; NVLink domains are nodes or leaves.
inline Layout trial_layout(Prng& r, std::uint32_t nodes_max, std::uint32_t gpus_max = 4) {
  Layout out;
  out.models = {"A", "B"};
  const auto nodes = static_cast<std::uint32_t>(2 + r.below(nodes_max - 1));
  const auto gpus = static_cast<std::uint32_t>(1 + r.below(gpus_max));
  const bool rack_scale = r.chance(0.3);
  const bool two_models = r.chance(0.2);
  std::uint32_t leaf = 0;
  std::uint32_t pod = 0;
  std::uint32_t in_leaf = 0;
  std::uint64_t leaf_size = 1 + r.below(4);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    if (in_leaf == leaf_size) {
      ++leaf;
      in_leaf = 0;
      leaf_size = 1 + r.below(4);
      if (r.chance(0.4)) ++pod;
    }
    ++in_leaf;
    out.nodes.push_back({rack_scale ? leaf : n, leaf, pod, gpus, two_models ? static_cast<std::uint32_t>(r.below(2)) : 0});
  }
  return out;
}

inline Shape trial_shape(Prng& r, const Layout& layout) {
  Shape s;
  const auto nodes = static_cast<std::uint32_t>(layout.nodes.size());
  s.pieces = static_cast<std::uint32_t>(1 + r.below(std::max(1U, nodes * 2 / 3)));
  s.gpus = static_cast<std::uint32_t>(r.below(layout.nodes[0].gpus + 1));
  s.required = static_cast<Level>(r.below(kLevels));
  if (r.chance(0.15)) s.segment = static_cast<std::uint32_t>(1 + r.below(2));
  if (r.chance(0.1)) s.model = static_cast<std::uint32_t>(r.below(2));
  return s;
}

// Gangs where the tree puts them, in random order with random departures, so that they lie scattered as on a real cluster.
inline TrialCluster trial_cluster(Prng& r, std::uint32_t nodes_max, std::uint32_t gangs_max) {
  TrialCluster out;
  out.layout = trial_layout(r, nodes_max);
  Tree tree(out.layout);
  const std::uint64_t arrivals = 4 + r.below(3 * gangs_max);
  std::uint32_t number = 0;
  for (std::uint64_t i = 0; i < arrivals; ++i) {
    if (!out.gangs.empty() && (out.gangs.size() >= gangs_max || r.chance(0.2))) {
      const auto k = static_cast<std::ptrdiff_t>(r.below(out.gangs.size()));
      give(tree, out.gangs[static_cast<std::size_t>(k)]);
      out.gangs.erase(out.gangs.begin() + k);
      continue;
    }
    Gang g;
    g.shape = trial_shape(r, out.layout);
    g.shape.pieces = 1 + static_cast<std::uint32_t>(r.below(g.shape.pieces));
    g.shape.required = Level::core;
    const auto c = tree.find(g.shape);
    if (!c) continue;
    g.id = {++number, 0};
    g.nodes = c->nodes;
    g.slots = c->slots;
    g.priority = static_cast<std::int32_t>(r.below(4));
    g.since_checkpoint_s = static_cast<double>(r.below(1800));
    g.restart_s = static_cast<double>(30 + r.below(120));
    g.running_s = static_cast<double>(r.below(7200));
    g.remaining_s = static_cast<double>(r.below(36'000));
    g.use = {static_cast<std::int64_t>(g.milli_gpus()), 0, 0, 0};
    take(tree, g);
    out.gangs.push_back(std::move(g));
  }
  return out;
}

}  // namespace muster::decide
