#include "design/fabrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace muster::design {
namespace {

constexpr std::uint32_t kEndpointsMax = 1'048'576;

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

class Builder {
 public:
  explicit Builder(const FabricAsk& ask) : ask_(ask) {}

  std::uint32_t endpoint(std::uint32_t node, std::uint32_t nic) {
    return fabric_.add({fmt::format("node{:05} mlx5_{}", node, nic), next_guid() + 1, false, {}});
  }
  std::uint32_t add_switch(std::string name) { return fabric_.add({std::move(name), next_guid(), true, {}}); }
  // On the next free port of each.
  void cable(std::uint32_t a, std::uint32_t b) { fabric_.connect(a, free_port(a), b, free_port(b), ask_.gb_s); }
  // The next free port comes after these, whether they are all used or not: a leaf that is filled later keeps its uplinks.
  void keep_free(std::uint32_t node, std::uint32_t ports) {
    std::vector<std::uint32_t>& out = fabric_.nodes[node].out;
    if (out.size() <= ports) out.resize(ports + 1, Fabric::kNoLink);
  }
  Fabric take() { return std::move(fabric_); }

 private:
  std::uint16_t free_port(std::uint32_t node) const {
    return static_cast<std::uint16_t>(std::max<std::size_t>(1, fabric_.nodes[node].out.size()));
  }
  // Locally administered, with room for the ports of one card.
  std::uint64_t next_guid() { return 0x0200'0000'0000'0000ULL + (++guids_ << 8); }

  const FabricAsk& ask_;
  Fabric fabric_;
  std::uint64_t guids_ = 0;
};

// How a switch with `up` ports shares them among as few switches above as the `below` of its kind can all reach.
std::optional<std::uint32_t> fewest_above(std::uint32_t up, std::uint32_t below, std::uint32_t radix) {
  for (std::uint32_t above = 1; above <= up; ++above) {
    if (up % above == 0 && below * (up / above) <= radix) return above;
  }
  return {};
}

struct Shape {
  std::uint32_t down = 0, up = 0;  // ports of a leaf
  std::uint32_t leaves = 0, levels = 2;
  std::uint32_t spines = 0;                         // of two levels; 0: they do not reach
  std::uint32_t per_pod = 0, pod_up = 0, pods = 0;  // leaves of a pod, and ports up of each of its spines
  std::uint32_t cores = 0;                          // of three levels, above spines of one number; 0: they do not reach
  bool whole() const { return levels == 2 ? spines > 0 : cores > 0 && leaves > 1; }
  std::uint64_t switches() const {
    if (leaves == 1) return 1;
    return levels == 2 ? leaves + spines : leaves + static_cast<std::uint64_t>(up) * (pods + cores);
  }
};

Shape shape_with(const FabricAsk& a, std::uint32_t down, std::uint32_t per_pod, std::uint32_t pod_up) {
  Shape s;
  s.down = down;
  s.up = std::min(a.radix - down, static_cast<std::uint32_t>(std::ceil(down / a.oversubscription)));
  if (s.down == 0 || s.up == 0) return s;
  s.leaves = a.kind == FabricKind::rail ? divide_up(a.nodes, s.down) * a.nics : divide_up(a.nodes * a.nics, s.down);
  s.per_pod = per_pod;
  s.pod_up = pod_up;
  s.pods = divide_up(s.leaves, std::max(per_pod, 1U));
  s.spines = fewest_above(s.up, s.leaves, a.radix).value_or(0);
  s.cores = per_pod > 0 ? fewest_above(pod_up, s.pods, a.radix).value_or(0) : 0;
  s.levels = a.levels != 0 ? a.levels : s.leaves == 1 || s.spines > 0 ? 2 : 3;
  return s;
}

// Leaves use all their ports, and pods all of their spines'. But 31 uplinks go evenly over one switch or over 31: where leaves
// (or pods) of a few ports fewer are no more of them and save a quarter of all switches, those are taken.
Shape shape(const FabricAsk& a) {
  const auto down = static_cast<std::uint32_t>(a.radix * a.oversubscription / (1 + a.oversubscription));
  const std::uint32_t per_pod = a.radix / 2;
  const Shape all = shape_with(a, down, per_pod, a.radix - per_pod);
  if (!all.whole()) return all;
  Shape best = all;
  for (std::uint32_t d = down; d >= 1 && d + down / 8 >= down; --d) {
    for (std::uint32_t q = per_pod; q >= 1 && q + per_pod / 8 >= per_pod; --q) {
      const Shape s = shape_with(a, d, q, q);
      const bool alike = s.whole() && s.leaves == all.leaves && s.pods == all.pods;
      if (alike && s.switches() < best.switches()) best = s;
    }
  }
  return 4 * best.switches() <= 3 * all.switches() ? best : all;
}

std::vector<std::uint32_t> leaves(Builder& b, const FabricAsk& a, const Shape& s) {
  std::vector<std::uint32_t> endpoints, out;
  for (std::uint32_t n = 0; n < a.nodes; ++n) {
    for (std::uint32_t r = 0; r < a.nics; ++r) endpoints.push_back(b.endpoint(n, r));
  }
  if (a.kind == FabricKind::rail) {
    for (std::uint32_t i = 0; i < s.leaves; ++i)
      out.push_back(b.add_switch(fmt::format("leaf-u{:02}-r{}", i / a.nics, i % a.nics)));
    for (std::uint32_t i = 0; i < endpoints.size(); ++i) {
      const std::uint32_t node = i / a.nics, nic = i % a.nics;
      b.cable(endpoints[i], out[node / s.down * a.nics + nic]);
    }
    return out;
  }
  for (std::uint32_t i = 0; i < s.leaves; ++i) out.push_back(b.add_switch(fmt::format("leaf-{:04}", i)));
  for (std::uint32_t i = 0; i < endpoints.size(); ++i) b.cable(endpoints[i], out[i / s.down]);
  return out;
}

void join(Builder& b, const std::vector<std::uint32_t>& below, const std::vector<std::uint32_t>& above, std::uint32_t each) {
  for (const std::uint32_t low : below) {
    for (const std::uint32_t high : above) {
      for (std::uint32_t i = 0; i < each; ++i) b.cable(low, high);
    }
  }
}

Result<Fabric> tree(const FabricAsk& a) {
  const Shape s = shape(a);
  if (s.down == 0 || s.up == 0) {
    return fail(Code::bad_input,
                fmt::format("switches of {} ports cannot be leaves with {:g} ports down for one up", a.radix, a.oversubscription),
                "a larger radix, or an oversubscription nearer to 1");
  }
  if (!s.whole()) {
    const std::uint32_t levels = s.levels, reach = levels == 2 ? a.radix * s.down : a.radix * (a.radix / 2) * s.down;
    if (levels == 3 && s.leaves <= 1)
      return fail(Code::bad_input, "one leaf reaches them all: three levels are too many", "levels 2");
    return fail(Code::bad_input,
                fmt::format("{} levels of switches with {} ports reach {} network cards at most; {} are asked for", levels,
                            a.radix, reach, a.nodes * a.nics),
                levels == 2 ? "three levels, a larger radix, more oversubscription, or fewer nodes"
                            : "a larger radix, more oversubscription, or fewer nodes");
  }
  Builder b(a);
  const std::vector<std::uint32_t> low = leaves(b, a, s);
  if (low.size() == 1) return b.take();
  for (const std::uint32_t leaf : low) b.keep_free(leaf, s.down);
  if (s.levels == 2) {
    std::vector<std::uint32_t> spines;
    for (std::uint32_t i = 0; i < s.spines; ++i) spines.push_back(b.add_switch(fmt::format("spine-{:03}", i)));
    join(b, low, spines, s.up / s.spines);
    return b.take();
  }
  std::vector<std::vector<std::uint32_t>> planes(s.up);  // the spines with the same number in each pod
  for (std::uint32_t p = 0; p < s.pods; ++p) {
    const auto begin = low.begin() + p * s.per_pod;
    const std::vector<std::uint32_t> own(begin, begin + std::min<std::ptrdiff_t>(s.per_pod, low.end() - begin));
    for (std::uint32_t i = 0; i < s.up; ++i) {
      planes[i].push_back(b.add_switch(fmt::format("spine-p{:02}-{:02}", p, i)));
      join(b, own, {planes[i].back()}, 1);
      b.keep_free(planes[i].back(), s.per_pod);
    }
  }
  for (std::uint32_t i = 0; i < s.up; ++i) {
    std::vector<std::uint32_t> own;
    for (std::uint32_t c = 0; c < s.cores; ++c) own.push_back(b.add_switch(fmt::format("core-{:02}-{:02}", i, c)));
    join(b, planes[i], own, s.pod_up / s.cores);
  }
  return b.take();
}

// Balanced: as many ways out of a group as endpoints, and twice as many switches in it.
Result<Fabric> dragonfly(const FabricAsk& a) {
  const std::uint32_t p = (a.radix + 1) / 4, per_group = 2 * p;
  const std::uint32_t endpoints = a.nodes * a.nics;
  const std::uint32_t groups = p == 0 ? 0 : divide_up(endpoints, p * per_group);
  const std::uint32_t groups_max = per_group * p + 1;
  if (p == 0 || groups > groups_max) {
    return fail(Code::bad_input,
                fmt::format("a dragonfly of switches with {} ports reaches {} network cards at most; {} are asked for", a.radix,
                            p * per_group * groups_max, endpoints),
                "a larger radix, or fewer nodes");
  }
  Builder b(a);
  std::vector<std::uint32_t> cards;
  for (std::uint32_t n = 0; n < a.nodes; ++n) {
    for (std::uint32_t r = 0; r < a.nics; ++r) cards.push_back(b.endpoint(n, r));
  }
  std::vector<std::vector<std::uint32_t>> group(groups);
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::uint32_t i = 0; i < per_group; ++i) group[g].push_back(b.add_switch(fmt::format("group{:03}-{:02}", g, i)));
  }
  for (std::uint32_t i = 0; i < endpoints; ++i) b.cable(cards[i], group[i / (p * per_group)][i / p % per_group]);
  for (const auto& own : group) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (std::size_t j = i + 1; j < own.size(); ++j) b.cable(own[i], own[j]);
    }
  }
  if (groups < 2) return b.take();
  // Ways between each two groups, taken from their switches in turn.
  const std::uint32_t ways = per_group * p / (groups - 1);
  std::vector<std::uint32_t> next(groups, 0);
  for (std::uint32_t x = 0; x < groups; ++x) {
    for (std::uint32_t y = x + 1; y < groups; ++y) {
      for (std::uint32_t w = 0; w < ways; ++w) b.cable(group[x][next[x]++ % per_group], group[y][next[y]++ % per_group]);
    }
  }
  return b.take();
}

}  // namespace

std::uint32_t leaf_ports_down(const FabricAsk& a) { return shape(a).down; }

std::uint64_t tree_switches(const FabricAsk& a) {
  const Shape s = shape(a);
  return s.whole() ? s.switches() : 0;
}

Result<Fabric> build_fabric(const FabricAsk& a) {
  if (a.nodes == 0 || a.nics == 0)
    return fail(Code::bad_input, "a fabric of no network cards", "at least one node with one card");
  if (a.nics > 16) return fail(Code::bad_input, fmt::format("a node has 1 to 16 network cards, not {}", a.nics));
  if (a.radix < 4 || a.radix > 254) return fail(Code::bad_input, fmt::format("a switch has 4 to 254 ports, not {}", a.radix));
  if (static_cast<std::uint64_t>(a.nodes) * a.nics > kEndpointsMax)
    return fail(Code::bad_input, fmt::format("more than {} network cards", kEndpointsMax));
  if (a.levels != 0 && a.levels != 2 && a.levels != 3)
    return fail(Code::bad_input, fmt::format("a tree has 2 or 3 levels of switches, not {}", a.levels));
  if (!(a.oversubscription >= 1 && a.oversubscription <= 16))
    return fail(Code::bad_input, fmt::format("an oversubscription is 1 to 16, not {:g}", a.oversubscription));
  if (!(a.gb_s > 0)) return fail(Code::bad_input, fmt::format("a port's rate is above 0, not {:g} GB/s", a.gb_s));
  if (a.kind == FabricKind::dragonfly && (a.levels != 0 || a.oversubscription > 1))
    return fail(Code::bad_input, "a dragonfly has neither levels nor oversubscribed leaves",
                "leave them out, or ask for fat_tree");
  return a.kind == FabricKind::dragonfly ? dragonfly(a) : tree(a);
}

}  // namespace muster::design
