#include "decide/moves/gang.h"

#include <algorithm>
#include <bit>

namespace muster::decide {

std::uint64_t Gang::milli_gpus() const {
  std::uint64_t n = 0;
  for (const std::uint16_t s : slots) n += static_cast<std::uint64_t>(std::popcount(s));
  return n * shape.milli;
}

std::int64_t Gang::loss_gpu_ms() const {
  const double s = std::max(0.0, since_checkpoint_s) + std::max(0.0, restart_s);
  return static_cast<std::int64_t>(static_cast<double>(milli_gpus()) * std::min(s, 1e9) + 0.5);
}

void take(Tree& tree, const Gang& g) {
  for (std::size_t i = 0; i < g.nodes.size(); ++i) tree.take(g.nodes[i], g.slots[i], g.shape.milli);
}

void give(Tree& tree, const Gang& g) {
  for (std::size_t i = 0; i < g.nodes.size(); ++i) tree.give(g.nodes[i], g.slots[i], g.shape.milli);
}

std::uint32_t group_of(const Layout& layout, NodeId n, Level level) {
  const Layout::Node& x = layout.nodes[n.v];
  switch (level) {
    case Level::node: return n.v;
    case Level::domain: return x.domain;
    case Level::leaf: return x.leaf;
    case Level::pod: return x.pod;
    case Level::core: return 0;
  }
  return 0;
}

std::uint32_t leaves_of(const Layout& layout, const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> leaves;
  for (const NodeId n : nodes) leaves.push_back(layout.nodes[n.v].leaf);
  std::sort(leaves.begin(), leaves.end());
  return static_cast<std::uint32_t>(std::unique(leaves.begin(), leaves.end()) - leaves.begin());
}

std::string_view say(Level level) {
  constexpr std::array<std::string_view, kLevels> kWords = {"node", "NVLink domain", "leaf", "pod", "cluster"};
  return kWords[static_cast<std::size_t>(level)];
}

}  // namespace muster::decide
