#include "decide/moves/spots.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace muster::decide {

Spots::Spots(const Tree& tree, const Layout& layout, const Shape& shape, Level level, std::uint32_t group,
             const std::set<NodeId>& without) {
  for (std::uint32_t i = 0; i < layout.nodes.size(); ++i) {
    const NodeId n{i};
    const Layout::Node& x = layout.nodes[i];
    if (group_of(layout, n, level) != group || !tree.is_open(n) || without.count(n) != 0) continue;
    if (!suits(shape, x.model, x.pools) || (shape.sides >> tree.side(n) & 1) == 0) continue;
    const auto free = static_cast<std::uint32_t>(std::popcount(tree.free_slots(n)));
    const std::uint32_t room = free / (shape.gpus == 0 ? x.gpus : shape.gpus);
    if (room == 0) continue;
    Domain& d = domains_[x.domain];
    d.leaf = x.leaf;
    d.cost = d.room == 0 ? tree.cost(n) : std::min(d.cost, tree.cost(n));
    d.room += room;
    d.nodes.push_back({n, room, tree.cost(n)});
    room_ += room;
  }
}

std::uint32_t Spots::room(std::uint32_t domain) const {
  const auto it = domains_.find(domain);
  return it == domains_.end() ? 0 : it->second.room;
}

std::vector<std::uint32_t> Spots::domains() const {
  std::vector<std::uint32_t> out;
  for (const auto& [d, x] : domains_) out.push_back(d);
  return out;
}

LeafFill Spots::fill_leaves(const std::set<std::uint32_t>& have, const std::map<std::uint32_t, std::uint32_t>& used,
                            std::uint32_t segments, std::uint32_t size) const {
  LeafFill out;
  out.leaves_min = static_cast<std::uint32_t>(have.size());
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> by_leaf;  // domain -> segments
  std::map<std::uint32_t, std::uint32_t> sums;
  for (const auto& [d, x] : domains_) {
    const auto it = used.find(d);
    const std::uint32_t places = (x.room - (it == used.end() ? 0 : it->second)) / size;
    if (places == 0) continue;
    by_leaf[x.leaf][d] = places;
    sums[x.leaf] += places;
  }
  const auto take = [&](std::uint32_t leaf) {
    // Welcome domains first, then tight ones: roomy ones stay for segments to come.
    std::vector<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>> order;  // cost, places, domain
    for (const auto& [d, places] : by_leaf[leaf]) order.emplace_back(domains_.at(d).cost, places, d);
    std::sort(order.begin(), order.end());
    for (const auto& [cost, places, d] : order) {
      const std::uint32_t n = std::min(places, segments);
      if (n > 0) out.pieces[d] += n * size;
      segments -= n;
    }
  };
  std::vector<std::pair<std::uint32_t, std::uint32_t>> near;  // room, leaf; from the roomiest down, ties by leaf
  std::vector<std::pair<std::uint32_t, std::uint32_t>> far;
  for (const auto& [leaf, places] : sums) (have.count(leaf) != 0 ? near : far).emplace_back(places, leaf);
  for (auto* order : {&near, &far}) {
    std::sort(order->begin(), order->end(),
              [](const auto& a, const auto& b) { return std::tuple(b.first, a.second) < std::tuple(a.first, b.second); });
  }
  for (auto* order : {&near, &far}) {
    while (segments > 0 && !order->empty()) {
      // The last leaf needed is the tightest that does.
      auto pick = order->begin();
      for (auto it = order->begin(); it != order->end() && it->first >= segments; ++it) {
        if (it->first < pick->first) pick = it;
      }
      if (order == &far) ++out.leaves_min;
      take(pick->second);
      order->erase(pick);
    }
  }
  out.enough = segments == 0;
  return out;
}

std::vector<std::pair<NodeId, std::uint32_t>> Spots::pick(std::uint32_t domain, std::uint32_t pieces,
                                                          std::span<const NodeId> own) const {
  std::vector<Node> order = domains_.at(domain).nodes;
  const auto foreign = [&](const Node& n) { return std::find(own.begin(), own.end(), n.id) == own.end(); };
  std::sort(order.begin(), order.end(), [&](const Node& a, const Node& b) {
    return std::tuple(foreign(a), a.cost, a.room, a.id) < std::tuple(foreign(b), b.cost, b.room, b.id);
  });
  std::vector<std::pair<NodeId, std::uint32_t>> out;
  for (const Node& n : order) {
    const std::uint32_t k = std::min(n.room, pieces);
    if (k > 0) out.emplace_back(n.id, k);
    pieces -= k;
  }
  return out;
}

}  // namespace muster::decide
