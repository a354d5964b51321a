#include "predict/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace muster::predict {
namespace {

constexpr std::uint16_t kFar = UINT16_MAX;
constexpr int kHopsMax = 64;

// Where an endpoint is plugged in.
std::optional<std::uint32_t> first_link(const Fabric& f, std::uint32_t endpoint) {
  for (const std::uint32_t l : f.nodes[endpoint].out) {
    if (l != Fabric::kNoLink) return l;
  }
  return {};
}

}  // namespace

Router::Router(const Fabric& fabric, const ForwardingTables& tables) : fabric_(fabric), routing_(Routing::tables) {
  tables_.resize(fabric.nodes.size(), nullptr);
  lids_.resize(fabric.nodes.size());
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
    const FabricNode& n = fabric.nodes[i];
    if (const auto it = tables.switches.find(n.guid); n.is_switch && it != tables.switches.end()) tables_[i] = &it->second;
    if (const auto it = tables.lids.find(n.guid); it != tables.lids.end()) lids_[i] = it->second;
  }
}

Router::Router(const Fabric& fabric, Routing routing, std::uint64_t seed) : fabric_(fabric), routing_(routing), seed_(seed) {
  switch_index_.resize(fabric.nodes.size(), UINT32_MAX);
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
    if (fabric.nodes[i].is_switch) switch_index_[i] = switches_++;
  }
}

Result<std::vector<Flows::Use>> Router::way(std::uint32_t from, std::uint32_t to) {
  if (from == to) return std::vector<Flows::Use>{};
  return routing_ == Routing::tables ? by_tables(from, to) : by_hops(from, to);
}

tl::unexpected<Error> Router::lost(std::uint32_t from, std::uint32_t to, std::uint32_t at) const {
  return fail(Code::not_found, fmt::format("no way from {} to {}: it ends at {}", fabric_.nodes[from].name,
                                           fabric_.nodes[to].name, fabric_.nodes[at].name));
}

Result<std::vector<Flows::Use>> Router::by_tables(std::uint32_t from, std::uint32_t to) const {
  std::vector<Flows::Use> out;
  const auto first = first_link(fabric_, from);
  if (!first || !lids_[to]) return lost(from, to, from);
  out.push_back({*first, 1});
  std::uint32_t at = fabric_.links[*first].to;
  while (at != to) {
    const std::vector<std::uint8_t>* table = tables_[at];
    if (table == nullptr || *lids_[to] >= table->size() || out.size() > kHopsMax) return lost(from, to, at);
    const std::uint32_t link = fabric_.out(at, (*table)[*lids_[to]]);
    if (link == Fabric::kNoLink) return lost(from, to, at);
    out.push_back({link, 1});
    at = fabric_.links[link].to;
  }
  return out;
}

// Endpoints do not forward, so ways are counted between switches; all endpoints of a leaf share the count.
const Router::Hops& Router::hops_to(std::uint32_t target) {
  const auto known = hops_.find(target);
  if (known != hops_.end()) return known->second;
  Hops& hops = hops_[target];
  hops.assign(switches_, kFar);
  hops[switch_index_[target]] = 0;
  std::vector<std::uint32_t> ring{target};
  while (!ring.empty()) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t n : ring) {
      for (const std::uint32_t l : fabric_.nodes[n].out) {
        if (l == Fabric::kNoLink) continue;
        const std::uint32_t far = fabric_.links[l].to;
        const std::uint32_t at = switch_index_[far];
        if (at == UINT32_MAX || hops[at] != kFar) continue;
        hops[at] = static_cast<std::uint16_t>(hops[switch_index_[n]] + 1);
        next.push_back(far);
      }
    }
    ring = std::move(next);
  }
  return hops;
}

Result<std::vector<Flows::Use>> Router::by_hops(std::uint32_t from, std::uint32_t to) {
  const auto first = first_link(fabric_, from), last = first_link(fabric_, to);
  if (!first || !last) return lost(from, to, first ? to : from);
  const std::uint32_t target = fabric_.links[*last].to;  // the switch that `to` is plugged into
  if (!fabric_.nodes[target].is_switch) return lost(from, to, from);
  const Hops& known = hops_to(target);
  const auto hops = [&](std::uint32_t node) { return switch_index_[node] == UINT32_MAX ? kFar : known[switch_index_[node]]; };
  std::vector<Flows::Use> out{{*first, 1}};
  const std::uint32_t begin = fabric_.links[*first].to;
  if (hops(begin) == kFar) return lost(from, to, begin);
  std::vector<std::pair<std::uint32_t, double>> ring{{begin, 1.0}};  // switches as far from the target, each with its part
  std::vector<std::uint32_t> ways;
  while (!ring.empty() && ring.front().first != target) {
    std::vector<std::pair<std::uint32_t, double>> next;
    for (const auto& [at, part] : ring) {
      ways.clear();
      for (const std::uint32_t l : fabric_.nodes[at].out) {
        if (l != Fabric::kNoLink && hops(fabric_.links[l].to) + 1 == hops(at)) ways.push_back(l);
      }
      if (routing_ == Routing::hashed) {
        const std::uint64_t key[] = {from, to, at};
        const std::string_view bytes(reinterpret_cast<const char*>(key), sizeof key);
        ways = {ways[xxh64(bytes, seed_) % ways.size()]};
      }
      for (const std::uint32_t l : ways) {
        const double share = part / static_cast<double>(ways.size());
        out.push_back({l, share});
        const std::uint32_t far = fabric_.links[l].to;
        const auto same = std::find_if(next.begin(), next.end(), [&](const auto& n) { return n.first == far; });
        if (same == next.end()) {
          next.emplace_back(far, share);
        } else {
          same->second += share;
        }
      }
    }
    ring = std::move(next);
  }
  out.push_back({*last ^ 1U, 1});
  return out;
}

}  // namespace muster::predict
