#include "decide/placer.h"

#include <fmt/core.h>

namespace muster::decide {

void Placer::update(const State& s) {
  if (leaf_of_.size() != s.nodes.size()) {
    *this = Placer{};
    leaves_.resize(s.site.leaves);
    pods_.resize(s.site.pods);
    pod_free_.assign(s.site.pods, 0);
    leaf_of_.reserve(s.nodes.size());
    for (const NodeSpec& n : s.site.nodes) {
      leaf_of_.push_back(n.leaf);
      leaves_[n.leaf].pod = n.pod;
    }
    for (std::uint32_t l = 0; l < leaves_.size(); ++l) {
      all_.insert({0, l});
      pods_[leaves_[l].pod].insert({0, l});
    }
    for (std::uint32_t n = 0; n < s.nodes.size(); ++n) set_free(NodeId{n}, placeable(s, NodeId{n}) && !s.nodes[n].busy());
    return;
  }
  for (NodeId n : s.dirty_nodes) set_free(n, placeable(s, n) && !s.nodes[n.v].busy());
}

void Placer::set_free(NodeId n, bool is_free) {
  const std::uint32_t l = leaf_of_[n.v];
  Leaf& leaf = leaves_[l];
  if ((leaf.free.count(n) != 0) == is_free) return;
  const auto count = static_cast<std::uint32_t>(leaf.free.size());
  const std::uint32_t changed = is_free ? count + 1 : count - 1;
  for (Order* order : {&all_, &pods_[leaf.pod]}) {
    auto entry = order->extract({count, l});
    entry.value().first = changed;
    order->insert(std::move(entry));
  }
  if (is_free) {
    leaf.free.insert(n);
    ++free_;
    ++pod_free_[leaf.pod];
  } else {
    leaf.free.erase(n);
    --free_;
    --pod_free_[leaf.pod];
  }
}

std::uint32_t Placer::leaves_needed(const Order& order, std::uint32_t nodes) {
  std::uint32_t k = 0;
  std::uint32_t got = 0;
  for (auto it = order.rbegin(); it != order.rend() && got < nodes; ++it, ++k) got += it->first;
  return got < nodes ? 0 : k;
}

Placer::Choice Placer::take(const Order& order, std::uint32_t nodes, std::uint32_t leaves, std::string why) {
  Choice c;
  std::uint32_t left = nodes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> chosen;  // (leaf, how many)
  auto it = order.rbegin();
  for (std::uint32_t k = 0; k + 1 < leaves; ++k, ++it) {
    chosen.emplace_back(it->second, it->first);
    left -= it->first;
  }
  // The last one: the tightest fit. It is not among those taken, which are all at least as large as the k-th largest.
  auto tight = order.lower_bound({left, 0});
  const auto used = [&](std::uint32_t leaf) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const auto& x) { return x.first == leaf; });
  };
  while (used(tight->second)) ++tight;
  chosen.emplace_back(tight->second, left);
  for (const auto& [leaf, count] : chosen) {
    auto n = leaves_[leaf].free.begin();
    for (std::uint32_t i = 0; i < count; ++i) c.nodes.push_back(*n++);
  }
  std::sort(c.nodes.begin(), c.nodes.end());
  for (NodeId n : c.nodes) set_free(n, false);
  c.placement.leaves = c.placement.leaves_min = leaves;
  c.placement.why = std::move(why);
  return c;
}

std::optional<Placer::Choice> Placer::place(std::uint32_t nodes) {
  if (nodes == 0 || nodes > free_) return std::nullopt;
  const std::uint32_t k = leaves_needed(all_, nodes);
  // One pod, if one can do it with the same number of leaves: the one with the fewest free nodes.
  std::uint32_t best = UINT32_MAX;
  for (std::uint32_t p = 0; p < pods_.size(); ++p) {
    if (pod_free_[p] < nodes || leaves_needed(pods_[p], nodes) != k) continue;
    if (best == UINT32_MAX || pod_free_[p] < pod_free_[best]) best = p;
  }
  const std::string bound =
      k == 1
          ? std::string("one leaf holds it: nothing can use fewer")
          : fmt::format("the {} largest holes together are too small for {} nodes, so {} leaves is the least", k - 1, nodes, k);
  if (best != UINT32_MAX) return take(pods_[best], nodes, k, bound + "; all in one pod");
  return take(all_, nodes, k, bound + "; no single pod has that many leaves free");
}

}  // namespace muster::decide
