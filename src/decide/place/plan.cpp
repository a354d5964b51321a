// Nesting of groups, and the sort that makes each group a run of positions.
#include "decide/place/plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace muster::decide {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

// Splits the groups named by `inner` along those named by `outer`.
template <class Inner, class Outer>
void split(std::vector<Layout::Node>& nodes, Inner inner, Outer outer) {
  std::uint32_t next = 0;
  for (const auto& n : nodes) next = std::max(next, n.*inner + 1);
  std::vector<std::uint32_t> first(next, kNobody);                             // outer group in which an inner one was met first
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> parts;  // inner, outer, new number; sorted
  for (auto& n : nodes) {
    auto& home = first[n.*inner];
    if (home == kNobody) home = n.*outer;
    if (home == n.*outer) continue;
    auto at = std::lower_bound(parts.begin(), parts.end(), std::tuple{n.*inner, n.*outer, 0U});
    if (at == parts.end() || std::get<0>(*at) != n.*inner || std::get<1>(*at) != n.*outer) {
      at = parts.insert(at, {n.*inner, n.*outer, next++});
    }
    n.*inner = std::get<2>(*at);
  }
}

}  // namespace

Layout nested(const Layout& layout) {
  Layout out = layout;
  split(out.nodes, &Layout::Node::leaf, &Layout::Node::pod);
  split(out.nodes, &Layout::Node::domain, &Layout::Node::leaf);
  return out;
}

namespace place {

Plan::Plan(const Layout& given) {
  const Layout layout = nested(given);
  const auto count = static_cast<std::uint32_t>(layout.nodes.size());
  node_at.resize(count);
  std::iota(node_at.begin(), node_at.end(), 0U);
  const auto key = [&](std::uint32_t n) {
    const auto& node = layout.nodes[n];
    return std::tuple{node.pod, node.leaf, node.domain, n};
  };
  std::sort(node_at.begin(), node_at.end(), [&](auto a, auto b) { return key(a) < key(b); });
  position_of.resize(count);
  for (std::uint32_t at = 0; at < count; ++at) {
    const auto& node = layout.nodes[node_at[at]];
    MUSTER_CHECK(node.gpus <= 16);
    position_of[node_at[at]] = at;
    const bool new_pod = pod_number.empty() || pod_number.back() != node.pod;
    const bool new_leaf = new_pod || leaf_number.back() != node.leaf;
    const bool new_domain = new_leaf || domain_number.back() != node.domain;
    if (new_pod) {
      pod_leaves.push_back(leaves());
      pod_number.push_back(node.pod);
    }
    if (new_leaf) {
      leaf_nodes.push_back(at);
      leaf_domains.push_back(domains());
      leaf_number.push_back(node.leaf);
      pod_of_leaf.push_back(pods() - 1);
    }
    if (new_domain) {
      domain_nodes.push_back(at);
      domain_number.push_back(node.domain);
    }
    domain_of.push_back(domains() - 1);
    leaf_of.push_back(leaves() - 1);
    gpus_mask.push_back(static_cast<std::uint16_t>((1U << node.gpus) - 1));
    model.push_back(node.model);
    pools.push_back(node.pools);
    first_gpu.push_back(gpus);
    gpus += node.gpus;
  }
  lone_domains = domains() == count;
  pod_leaves.push_back(leaves());
  leaf_nodes.push_back(count);
  leaf_domains.push_back(domains());
  domain_nodes.push_back(count);
}

}  // namespace place
}  // namespace muster::decide
