// How devices, ports and rates of a network are called.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "design/fabric_compare.h"
#include "design/fabric_match.h"

namespace muster::design {

EndNames::EndNames(const Fabric& fabric) : fabric_(fabric), ambiguous_(fabric.nodes.size(), false) {
  std::vector<std::tuple<std::string_view, std::uint16_t, std::uint32_t>> all;
  all.reserve(fabric.nodes.size());
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) all.emplace_back(fabric.nodes[i].name, fabric.nodes[i].card_port, i);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (std::get<0>(all[i]) != std::get<0>(all[i - 1]) || std::get<1>(all[i]) != std::get<1>(all[i - 1])) continue;
    ambiguous_[std::get<2>(all[i])] = ambiguous_[std::get<2>(all[i - 1])] = true;
  }
}

std::string EndNames::device(std::uint32_t node) const {
  const FabricNode& n = fabric_.nodes[node];
  return ambiguous_[node] ? fmt::format("{} (0x{:016x})", n.name, n.guid) : n.name;
}

std::string EndNames::end(std::uint32_t node, std::size_t port) const {
  const FabricNode& n = fabric_.nodes[node];
  return fmt::format("{}[{}]", device(node), n.is_switch ? port : n.card_port);
}

std::vector<int> rails_of(const Fabric& fabric) {
  struct Count {
    std::map<int, std::uint32_t> cards;
    std::uint32_t all = 0;
  };
  std::vector<Count> counts(fabric.nodes.size());
  for (std::uint32_t i = 0; i < fabric.links.size(); ++i) {
    const FabricLink& l = fabric.links[i];
    if (fabric.nodes[l.from].is_switch || !fabric.nodes[l.to].is_switch) continue;
    if (fabric.out(l.from, l.port) != i) continue;  // it was cut
    ++counts[l.to].cards[card_of(fabric.nodes[l.from].name)];
    ++counts[l.to].all;
  }
  constexpr double kPure = 0.75;  // as many cards of one number make a leaf a rail's
  std::vector<int> out(fabric.nodes.size(), -1);
  int lowest = INT32_MAX, highest = -1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const auto& [card, count] : counts[i].cards) {
      if (card < 0 || count < kPure * counts[i].all) continue;
      out[i] = card;
      lowest = std::min(lowest, card), highest = std::max(highest, card);
    }
    if (counts[i].all > 0 && out[i] < 0) return {};
  }
  return lowest < highest ? out : std::vector<int>();
}

std::string say_rate(double gb_s, unsigned lanes) {
  struct Speed {
    std::string_view name;
    double gbit_s;
  };
  constexpr Speed kSpeeds[] = {{"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 13.64},
                               {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};
  for (const Speed& s : kSpeeds) {
    if (lanes > 0 && gb_s * 8 / lanes > s.gbit_s - 0.01 && gb_s * 8 / lanes < s.gbit_s + 0.01)
      return fmt::format("{}x{}", lanes, s.name);
  }
  return fmt::format("{:g} GB/s", gb_s);
}

}  // namespace muster::design
