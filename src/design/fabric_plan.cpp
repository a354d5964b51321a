#include "design/fabric_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/text.h"

namespace muster::design {
namespace {

// A switch of 64 ports draws 0.75 kW with passive cables by its data sheet (QM9700); a module of 400G 8.5 W.
constexpr double kPortW = 750.0 / 64;
constexpr std::array<double, 4> kEndW = {0, 4.5, 8, 8.5};  // of one end of a cable, by medium
constexpr std::uint32_t kUnicastLids = 0xBFFF;
constexpr double kPricedGbS = 50;
constexpr std::uint32_t kPricedPorts = 64;

std::uint32_t endpoints_of(const FabricPlanAsk& a, std::uint32_t nodes) { return nodes * a.fabric.nics; }

Result<void> check(FabricPlanAsk& a) {
  std::uint32_t before = a.fabric.nodes;
  for (const std::uint32_t n : a.grow) {
    if (n <= before) {
      return fail(Code::bad_input, fmt::format("a network of {} nodes does not grow to {}", before, n),
                  "--grow with rising numbers of nodes, all above --nodes");
    }
    before = n;
  }
  FloorAsk& f = a.floor;
  if (f.node_units == 0 || f.node_units > kRackUnits)
    return fail(Code::bad_input, fmt::format("a node is 1 to {} units high, not {}", kRackUnits, f.node_units), "--node-units");
  if (f.nodes_per_rack == 0) {
    if (!(a.node_kw > 0) || a.node_kw > a.rack_kw) {
      return fail(Code::bad_input, fmt::format("a node of {:g} kW does not fit into a rack of {:g} kW", a.node_kw, a.rack_kw),
                  "--rack-kw, or --nodes-per-rack");
    }
    f.nodes_per_rack = std::max(1U, std::min(static_cast<std::uint32_t>(a.rack_kw / a.node_kw), kRackUnits / f.node_units));
  }
  if (f.nodes_per_rack > kRackUnits / f.node_units) {
    return fail(Code::bad_input,
                fmt::format("{} nodes of {} units do not fit into a rack of {}", f.nodes_per_rack, f.node_units, kRackUnits),
                "fewer --nodes-per-rack, or smaller --node-units");
  }
  if (f.racks_per_row == 0 || f.switches_per_rack == 0 || f.switches_per_rack > 19)
    return fail(Code::bad_input, "a row has at least one rack, and a rack of the network 1 to 19 switches");
  return {};
}

// "gpu####" to gpu0001 and so on; the numbers must be as long as the last one, or names would not sort by number.
Result<void> name_nodes(Fabric& f, const FabricPlanAsk& a, std::uint32_t nodes) {
  if (a.name_format.empty()) return {};
  const std::size_t first = a.name_format.find('#'), last = a.name_format.rfind('#');
  const bool plain = std::all_of(a.name_format.begin(), a.name_format.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           c == '#';
  });
  const std::size_t width = first == std::string::npos ? 0 : last - first + 1;
  const bool one_run = width > 0 && a.name_format.substr(first, width).find_first_not_of('#') == std::string::npos;
  if (!plain || !one_run || a.name_format.size() > 63) {
    return fail(Code::bad_input, fmt::format("\"{}\" is no format of names", printable(a.name_format)),
                "letters, digits, '-', '_', '.' and one run of #, as gpu####");
  }
  if (width < std::to_string(nodes).size()) {
    return fail(Code::bad_input, fmt::format("{} nodes do not fit into {} digits", nodes, width),
                fmt::format("a name format with at least {} #", std::to_string(nodes).size()));
  }
  for (std::uint32_t i = 0; i < nodes * a.fabric.nics; ++i) {
    f.nodes[i].name = fmt::format("{}{:0{}}{} mlx5_{}", a.name_format.substr(0, first), i / a.fabric.nics + 1, width,
                                  a.name_format.substr(last + 1), i % a.fabric.nics);
  }
  return {};
}

// From the endpoints up. The switches of a dragonfly are all alike.
std::vector<std::uint8_t> tiers_of(const Fabric& f, FabricKind kind) {
  std::vector<std::uint8_t> out(f.nodes.size(), 0);
  std::vector<std::uint32_t> now;
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    if (!f.nodes[i].is_switch) {
      now.push_back(i);
    } else if (kind == FabricKind::dragonfly) {
      out[i] = 1;
    }
  }
  for (std::uint8_t tier = 1; !now.empty() && kind != FabricKind::dragonfly; ++tier) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t n : now) {
      for (const std::uint32_t l : f.nodes[n].out) {
        if (l == Fabric::kNoLink) continue;
        const std::uint32_t to = f.links[l].to;
        if (!f.nodes[to].is_switch || out[to] != 0) continue;
        out[to] = tier;
        next.push_back(to);
      }
    }
    now = std::move(next);
  }
  return out;
}

// Which switches stand and fall together: of a tree the leaves and spines that reach each other below the cores, of a dragonfly
// the groups. By node; endpoints and cores have none that matters.
std::vector<std::uint32_t> blocks_of(const Fabric& f, const std::vector<std::uint8_t>& tiers, FabricKind kind) {
  std::vector<std::uint32_t> up(f.nodes.size());
  std::iota(up.begin(), up.end(), 0U);
  const auto root = [&](std::uint32_t i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
  };
  if (kind == FabricKind::dragonfly) {
    std::map<std::string_view, std::uint32_t> groups;
    for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
      if (!f.nodes[i].is_switch) continue;
      const std::string_view name = f.nodes[i].name;
      up[i] = groups.try_emplace(name.substr(0, name.find('-')), i).first->second;
    }
    return up;
  }
  for (std::size_t l = 0; l < f.links.size(); l += 2) {
    const std::uint32_t a = f.links[l].from, b = f.links[l].to;
    if (std::max(tiers[a], tiers[b]) == 2 && std::min(tiers[a], tiers[b]) == 1) up[root(a)] = root(b);
  }
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) up[i] = root(i);
  return up;
}

class Planner {
 public:
  explicit Planner(FabricPlanAsk ask) { p_.ask = std::move(ask); }

  Result<FabricPlan> run() {
    FabricPlanAsk& a = p_.ask;
    if (auto ok = check(a); !ok) return tl::unexpected(ok.error());
    sizes_ = {a.fabric.nodes};
    sizes_.insert(sizes_.end(), a.grow.begin(), a.grow.end());
    FabricAsk last = a.fabric;
    last.nodes = sizes_.back();
    auto whole = build_fabric(last);
    if (!whole) return tl::unexpected(whole.error());
    p_.whole = std::move(*whole);
    if (auto ok = name_nodes(p_.whole, a, last.nodes); !ok) return tl::unexpected(ok.error());
    p_.tiers = tiers_of(p_.whole, a.fabric.kind);
    blocks_ = blocks_of(p_.whole, p_.tiers, a.fabric.kind);
    buy_in_order();
    p_.floor = lay_out(p_.whole, p_.tiers, a.fabric.nics, a.floor);
    lay_cables();
    for (std::uint32_t k = 0; k < sizes_.size(); ++k) count(k);
    for (std::uint32_t k = 0; k < sizes_.size(); ++k) compare_alone(k);
    note();
    return std::move(p_);
  }

 private:
  std::uint32_t step_of_node(std::uint32_t node) const {
    return static_cast<std::uint32_t>(std::upper_bound(sizes_.begin(), sizes_.end(), node) - sizes_.begin());
  }

  // A switch comes with the first below it; spines only where there are two leaves, and cores where there are two pods.
  void buy_in_order() {
    const Fabric& f = p_.whole;
    constexpr std::uint32_t kNever = UINT32_MAX;
    p_.since.assign(f.nodes.size(), kNever);
    for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
      if (p_.tiers[i] == 0) p_.since[i] = step_of_node(i / p_.ask.fabric.nics);
    }
    for (std::uint8_t tier = 1; tier <= 3; ++tier) {
      const std::uint32_t floor = tier == 1 ? 0 : second(tier - 1);
      for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
        if (p_.tiers[i] != tier) continue;
        std::uint32_t first = kNever;
        for (const std::uint32_t l : f.nodes[i].out) {
          if (l != Fabric::kNoLink && p_.tiers[f.links[l].to] < tier) first = std::min(first, p_.since[f.links[l].to]);
        }
        p_.since[i] = first == kNever ? kNever : std::max(first, floor);
      }
    }
    if (p_.ask.fabric.kind != FabricKind::dragonfly) return;
    std::map<std::uint32_t, std::uint32_t> group;  // all of a group comes with its first
    for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
      if (p_.tiers[i] == 0) continue;
      const auto at = group.try_emplace(blocks_[i], p_.since[i]).first;
      at->second = std::min(at->second, p_.since[i]);
    }
    for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
      if (p_.tiers[i] != 0) p_.since[i] = group.at(blocks_[i]);
    }
  }

  // The step at which there are two leaves (tier 1), or two pods (tier 2).
  std::uint32_t second(int tier) const {
    std::map<std::uint32_t, std::uint32_t> first;  // by leaf, or by pod
    for (std::uint32_t i = 0; i < p_.whole.nodes.size(); ++i) {
      if (p_.tiers[i] != 1) continue;
      const auto at = first.try_emplace(tier == 1 ? i : blocks_[i], p_.since[i]).first;
      at->second = std::min(at->second, p_.since[i]);
    }
    std::vector<std::uint32_t> steps;
    for (const auto& [block, since] : first) steps.push_back(since);
    std::sort(steps.begin(), steps.end());
    return steps.size() < 2 ? 0 : steps[1];
  }

  void lay_cables() {
    const MediumReach& r = p_.ask.reach;
    const Fabric& f = p_.whole;
    p_.cables.reserve(f.links.size() / 2);
    for (std::size_t l = 0; l < f.links.size(); l += 2) {
      const std::uint32_t a = f.links[l].from, b = f.links[l].to;
      const double m = cable_length_m(p_.floor.spots[a], p_.floor.spots[b]);
      const Medium medium = m <= r.dac_m ? Medium::dac : m <= r.aec_m ? Medium::aec : m <= r.aoc_m ? Medium::aoc : Medium::optic;
      p_.cables.push_back({m, medium, std::max(p_.since[a], p_.since[b])});
    }
  }

  void count(std::uint32_t k) {
    const FabricPlanAsk& a = p_.ask;
    PlanStep s;
    s.nodes = sizes_[k];
    s.endpoints = endpoints_of(a, s.nodes);
    s.added.nodes = s.nodes - (k > 0 ? sizes_[k - 1] : 0);
    for (std::size_t i = 0; i < p_.whole.nodes.size(); ++i) {
      if (p_.tiers[i] == 0 || p_.since[i] > k) continue;
      ++s.switches[p_.tiers[i] - 1U];
      s.added.switches += p_.since[i] == k ? 1 : 0;
    }
    std::array<std::uint32_t, 4> fresh{};
    for (const PlannedCable& c : p_.cables) {
      if (c.since > k) continue;
      ++s.cables[static_cast<std::size_t>(c.medium)];
      if (c.since == k) ++fresh[static_cast<std::size_t>(c.medium)];
    }
    s.transceivers = 2 * s.cables[3];
    s.added.cables = fresh[0] + fresh[1] + fresh[2] + fresh[3];
    double w = s.all_switches() * kPortW * a.fabric.radix;
    for (std::size_t m = 0; m < s.cables.size(); ++m) w += 2 * s.cables[m] * kEndW[m];
    s.network_kw = w / 1000;
    const HardwarePrices& p = a.prices;
    const auto line = [&](const char* item, std::uint64_t n, double each) {
      if (n == 0) return;
      const auto source = p.sources.find(item);
      s.bill.push_back({item, n, each, source == p.sources.end() ? "" : source->second});
      s.usd += static_cast<double>(n) * each;
    };
    line("switch", s.added.switches, p.switch_usd);
    line("copper cable", fresh[0], p.copper_cable);
    line("active copper cable", fresh[1], p.active_copper_cable);
    line("active cable", fresh[2], p.active_cable);
    line("fibre", fresh[3], p.fibre);
    line("transceiver", 2ULL * fresh[3], p.transceiver);
    s.shift_share = promise(k);
    p_.steps.push_back(std::move(s));
  }

  struct Block {
    std::uint32_t down = 0, up = 0;  // cables to endpoints, and out of it
  };
  // By leaf, or by pod: what comes in from below and goes out above.
  std::vector<Block> blocks_at(std::uint32_t k, bool pods) const {
    const Fabric& f = p_.whole;
    std::map<std::uint32_t, Block> out;
    for (std::size_t l = 0; l < f.links.size(); ++l) {
      if (p_.cables[l / 2].since > k) continue;
      const FabricLink& link = f.links[l];
      const std::uint8_t from = p_.tiers[link.from], to = p_.tiers[link.to];
      if (from == 1 && to == 0) ++out[pods ? blocks_[link.from] : link.from].down;
      if (!pods && from == 1 && to >= 1) ++out[link.from].up;
      if (pods && from == 2 && to == 3) ++out[blocks_[link.from]].up;
    }
    std::vector<Block> all;
    for (const auto& [id, b] : out) all.push_back(b);
    return all;
  }

  // What static routes by destination give to shifts. A tree gives a flow its share of the fullest link out of a leaf or pod, and
  // all of that where the blocks are full. Where the last one is not, the order of endpoints wraps round within a block, and of
  // one block's flows two each may meet: so many colours do not close a circle whose length they do not divide.
  double promise(std::uint32_t k) const {
    const FabricPlanAsk& a = p_.ask;
    if (a.fabric.kind == FabricKind::dragonfly) return promise_of_groups(k);
    const std::vector<Block> leaves = blocks_at(k, false), pods = blocks_at(k, true);
    if (leaves.size() < 2) return 1;
    double share = 1;
    const auto narrow = [&](const std::vector<Block>& blocks) {
      for (const Block& b : blocks) {
        if (b.up > 0 && b.down > 0) share = std::min(share, 1.0 / ((b.down + b.up - 1) / b.up));
      }
    };
    narrow(leaves);
    const bool three = pods.size() > 1;
    if (three) narrow(pods);
    const auto largest = [](const std::vector<Block>& blocks) {
      return std::max_element(blocks.begin(), blocks.end(), [](const Block& x, const Block& y) { return x.down < y.down; })->down;
    };
    // Rails wrap round by themselves, each with one card of every node.
    const bool rails = a.fabric.kind == FabricKind::rail;
    const std::uint32_t leaf = largest(leaves);
    const std::uint32_t all = rails ? sizes_[k] : endpoints_of(a, sizes_[k]);
    const std::uint32_t pod = three ? std::max(leaf, rails ? largest(pods) / a.fabric.nics : largest(pods)) : leaf;
    if (all % pod == 0 && all % leaf == 0) return share;
    const double met = static_cast<double>(three ? pod + leaf : leaf) / all;
    return share * std::max(0.5, 1 - met / 2);
  }

  // Shortest ways only: the flows of a switch to another share one cable, and those of a group to another theirs.
  double promise_of_groups(std::uint32_t k) const {
    std::map<std::uint32_t, std::uint32_t> endpoints;  // by group
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ways;
    std::uint32_t most = 1;
    for (const Block& b : blocks_at(k, false)) most = std::max(most, b.down);
    for (std::size_t l = 0; l < p_.whole.links.size(); ++l) {
      if (p_.cables[l / 2].since > k) continue;
      const FabricLink& link = p_.whole.links[l];
      if (p_.tiers[link.from] == 0) ++endpoints[blocks_[link.to]];
      if (p_.tiers[link.from] == 1 && p_.tiers[link.to] == 1 && blocks_[link.from] != blocks_[link.to])
        ++ways[{blocks_[link.from], blocks_[link.to]}];
    }
    double share = 1.0 / most;
    for (const auto& [pair, n] : ways)
      share = std::min(share, static_cast<double>(n) / std::max(1U, std::min(endpoints[pair.first], endpoints[pair.second])));
    return share;
  }

  // What it would be without thought of what comes later.
  void compare_alone(std::uint32_t k) {
    FabricAsk alone = p_.ask.fabric;
    alone.nodes = sizes_[k];
    const auto now = build_fabric(alone);
    if (!now) return;
    for (const FabricNode& n : now->nodes) p_.steps[k].alone_switches += n.is_switch ? 1 : 0;
    if (k + 1 >= sizes_.size()) return;
    alone.nodes = sizes_[k + 1];
    const auto later = build_fabric(alone);
    if (!later) return;
    const auto trunks = [](const Fabric& f) {
      std::map<std::pair<std::string_view, std::string_view>, std::int64_t> out;
      for (std::size_t l = 0; l < f.links.size(); l += 2) {
        const FabricNode &a = f.nodes[f.links[l].from], &b = f.nodes[f.links[l].to];
        if (a.is_switch && b.is_switch) ++out[std::minmax(std::string_view(a.name), std::string_view(b.name))];
      }
      return out;
    };
    const auto before = trunks(*now), after = trunks(*later);
    for (const auto& [ends, n] : before) {
      const auto at = after.find(ends);
      p_.steps[k].alone_moved += static_cast<std::uint32_t>(std::max<std::int64_t>(0, n - (at == after.end() ? 0 : at->second)));
    }
  }

  void note() {
    const FabricPlanAsk& a = p_.ask;
    const PlanStep& last = p_.steps.back();
    if (last.endpoints + last.all_switches() > kUnicastLids) {
      p_.notes.push_back(
          fmt::format("{} addresses are needed and an InfiniBand subnet has {}: it takes several subnets, such as one "
                      "for each rail, with a subnet manager each",
                      last.endpoints + last.all_switches(), kUnicastLids));
    }
    for (const PlanStep& s : p_.steps) {
      if (s.shift_share >= 1 || a.fabric.oversubscription > 1 || a.fabric.kind == FabricKind::dragonfly) continue;
      p_.notes.push_back(
          fmt::format("{} nodes do not fill their last leaf or pod: static routes let some flows of a shift meet there, "
                      "so {:.1f} % is promised; adaptive routing or nodes that fill it give all",
                      s.nodes, 100 * s.shift_share));
    }
    note_idle_spines();
    note_media();
    if (a.fabric.gb_s != kPricedGbS || a.fabric.radix != kPricedPorts)
      p_.notes.emplace_back("the prices that ship are of 64-port switches and parts of 400G: --prices FILE has your own");
    const PlanStep& now = p_.steps.front();
    if (p_.steps.size() > 1 && now.alone_moved > 0) {
      p_.notes.push_back(
          fmt::format("room to grow: {} switches now, {} would do for {} nodes alone, and the next step would then move "
                      "{} cables",
                      now.all_switches(), now.alone_switches, now.nodes, now.alone_moved));
    }
  }

  // Uplinks that few numbers divide go evenly over many switches alone, which then stand half empty.
  void note_idle_spines() {
    const FabricAsk& a = p_.ask.fabric;
    if (a.kind == FabricKind::dragonfly) return;
    const std::uint8_t top = *std::max_element(p_.tiers.begin(), p_.tiers.end());
    std::uint32_t above = 0, used = 0;
    for (std::size_t i = 0; i < p_.tiers.size(); ++i) {
      if (top < 2 || p_.tiers[i] != top) continue;
      ++above;
      for (const std::uint32_t l : p_.whole.nodes[i].out) used += l == Fabric::kNoLink ? 0 : 1;
    }
    if (above < 2 || 2 * used > above * a.radix) return;
    FabricAsk other = a;
    other.nodes = sizes_.back();
    const std::uint64_t now = tree_switches(other);
    std::uint64_t best = now;
    std::uint32_t radix = a.radix;
    for (other.radix = (a.radix - 1) / 2 * 2; other.radix >= 4 && 8 * other.radix >= 7 * a.radix; other.radix -= 2) {
      const std::uint64_t n = tree_switches(other);
      if (n > 0 && n < best) best = n, radix = other.radix;
    }
    std::string text = fmt::format(
        "the {} switches of the highest level use {} of their {} ports: a leaf's uplinks go evenly over "
        "no smaller number of them",
        above, used / above, a.radix);
    if (radix != a.radix) text += fmt::format("; --radix {} of the same switches takes {} instead of {}", radix, best, now);
    p_.notes.push_back(std::move(text));
  }

  // What is counted and can hardly be bought: InfiniBand's NDR comes as passive copper, or as modules and fibre.
  void note_media() {
    const FabricPlanAsk& a = p_.ask;
    const PlanStep& last = p_.steps.back();
    const std::uint32_t aec = last.cables[1], aoc = last.cables[2];
    if (a.fabric.gb_s < kPricedGbS || aec + aoc == 0) return;
    p_.notes.push_back(
        fmt::format("{} AEC and {} AOC are counted: for InfiniBand from 400 Gb/s on few are sold; --aec-m 0 --aoc-m 0 leaves "
                    "them out, and modules and fibre take their place",
                    aec, aoc));
  }

  FabricPlan p_;
  std::vector<std::uint32_t> sizes_;   // nodes after each step
  std::vector<std::uint32_t> blocks_;  // by node
};

}  // namespace

Result<FabricPlan> plan_fabric(FabricPlanAsk ask) { return Planner(std::move(ask)).run(); }

Fabric fabric_at(const FabricPlan& plan, std::size_t step) {
  const Fabric& f = plan.whole;
  Fabric out;
  std::vector<std::uint32_t> id(f.nodes.size(), 0);
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    if (plan.since[i] > step) continue;
    FabricNode n = f.nodes[i];
    n.out.clear();
    id[i] = out.add(std::move(n));
  }
  for (std::size_t l = 0; l < f.links.size(); l += 2) {
    if (plan.cables[l / 2].since > step) continue;
    const FabricLink &a = f.links[l], &b = f.links[l + 1];
    out.connect(id[a.from], a.port, id[b.from], b.port, a.gb_s, a.lanes);
  }
  return out;
}

std::vector<std::uint64_t> roots_at(const FabricPlan& plan, std::size_t step) {
  std::vector<std::uint64_t> out;
  if (plan.ask.fabric.kind == FabricKind::dragonfly) return out;
  std::uint8_t top = 1;
  for (std::size_t i = 0; i < plan.tiers.size(); ++i) {
    if (plan.since[i] <= step) top = std::max(top, plan.tiers[i]);
  }
  for (std::size_t i = 0; i < plan.tiers.size(); ++i) {
    if (plan.since[i] <= step && plan.tiers[i] == top) out.push_back(plan.whole.nodes[i].guid);
  }
  return out;
}

}  // namespace muster::design
