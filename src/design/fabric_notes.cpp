// What a comparison tells beside its faults: names, and what it leaves out.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "design/fabric_difference.h"

namespace muster::design {
namespace {

constexpr std::size_t kExamples = 4;
constexpr std::uint32_t kNone = Overlay::kNone;

// A count, and the first few.
struct Examples {
  std::size_t count = 0;
  std::vector<std::string> some;

  void add(std::string example) {
    if (++count <= kExamples) some.push_back(std::move(example));
  }
  std::string number(std::string_view one, std::string_view more) const {
    return count == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}", count, more);
  }
  std::string text() const { return join(some, ", ") + (count > some.size() ? ", ..." : ""); }
};

// A switch, or all cards of one host.
class Units {
 public:
  explicit Units(const Overlay& o) : over_(o), unit_(o.devices()), cables_(o.devices(), 0) {
    std::unordered_map<std::string_view, std::uint32_t> hosts;
    for (std::uint32_t d = 0; d < o.devices(); ++d) {
      unit_[d] = o.is_switch(d) ? d : hosts.try_emplace(host_of(o.node(d).name), d).first->second;
      for (std::uint32_t e = o.begin(d); e < o.begin(d + 1); ++e) {
        cables_[unit_[d]] += o.want(e) != kNone && o.have(e) != kNone ? 1 : 0;
      }
    }
  }
  std::uint32_t of(std::uint32_t end) const { return unit_[over_.device(end)]; }
  std::uint32_t cables(std::uint32_t unit) const { return cables_[unit]; }
  // The same port of another switch, or the same card of another host.
  bool same_place(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t x = over_.device(a), y = over_.device(b);
    if (over_.is_switch(x) != over_.is_switch(y) || unit_[x] == unit_[y]) return false;
    if (!over_.wanted(x) || !over_.wanted(y)) return false;
    if (over_.is_switch(x)) return over_.port(a) == over_.port(b);
    const FabricNode &m = over_.node(x), &n = over_.node(y);
    return m.card_port == n.card_port && card_name_of(m.name) == card_name_of(n.name);
  }
  std::string name(std::uint32_t unit) const {
    return over_.is_switch(unit) ? over_.say_device(unit) : std::string(host_of(over_.node(unit).name));
  }

 private:
  const Overlay& over_;
  std::vector<std::uint32_t> unit_, cables_;
};

}  // namespace

std::vector<WholeExchange> whole_exchanges(const Overlay& o, const std::vector<Chain>& chains, const FabricMatch& match) {
  std::vector<WholeExchange> out;
  if (chains.size() < 2) return out;
  const Units units(o);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> between;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    if (!chains[i].cycle || chains[i].ends.size() != 4) continue;
    const std::uint32_t a = chains[i].ends[0], b = o.want(a), d = o.have(a), other = o.want(d);
    for (const auto& [x, y] : {std::pair(a, other), std::pair(b, d)}) {
      if (units.same_place(x, y)) between[std::minmax(units.of(x), units.of(y))].push_back(i);
    }
  }
  std::vector<bool> taken(chains.size(), false);
  for (const auto& [pair, all] : between) {
    const auto [x, y] = pair;
    const std::size_t least = o.is_switch(x) ? 3 : 2;
    if (all.size() < least || all.size() != units.cables(x) || all.size() != units.cables(y)) continue;
    if (std::any_of(all.begin(), all.end(), [&](std::size_t i) { return taken[i]; })) continue;
    for (const std::size_t i : all) taken[i] = true;
    using By = FabricMatch::By;
    out.push_back({{units.name(x), units.name(y)}, all, match.by[x] == By::guid || match.by[y] == By::guid});
  }
  return out;
}

FabricSurvey without_aggregation(const FabricSurvey& survey, std::uint32_t& left_out) {
  const Fabric& all = survey.fabric;
  FabricSurvey out;
  std::vector<std::uint32_t> kept(all.nodes.size(), kNone);
  for (std::uint32_t n = 0; n < all.nodes.size(); ++n) {
    const FabricNode& node = all.nodes[n];
    if (is_aggregation_node(node)) {
      ++left_out;
      continue;
    }
    kept[n] = out.fabric.add({node.name, node.guid, node.is_switch, {}, node.card_port});
  }
  for (std::uint32_t l = 0; l < all.links.size(); l += 2) {
    const FabricLink &link = all.links[l], &back = all.links[l + 1];
    if (all.out(link.from, link.port) != l || kept[link.from] == kNone || kept[link.to] == kNone) continue;
    out.fabric.connect(kept[link.from], link.port, kept[link.to], back.port, link.gb_s, link.lanes);
  }
  for (const SurveyOddity& odd : survey.oddities) {
    if (kept[odd.node] != kNone) out.oddities.push_back({odd.mark, kept[odd.node], odd.port});
  }
  for (const auto& [a, b] : survey.duplicates) {
    if (kept[a] != kNone && kept[b] != kNone) out.duplicates.push_back({kept[a], kept[b]});
  }
  out.root_guid = survey.root_guid;
  out.cut_short = survey.cut_short;
  return out;
}

std::vector<std::string> repeated_names(const FabricSurvey& found) {
  std::map<std::pair<std::string_view, std::uint16_t>, std::size_t> counts;
  for (const FabricNode& n : found.fabric.nodes) ++counts[{n.name, n.card_port}];
  Examples repeated;
  for (const auto& [name, count] : counts) {
    if (count > 1) repeated.add(fmt::format("{} ({})", name.first, count));
  }
  if (repeated.count == 0) return {};
  return {"names that several devices bear, and how many: " + repeated.text()};
}

std::vector<std::string> name_notes(const Fabric& design, const FabricSurvey& found, const FabricMatch& match) {
  using By = FabricMatch::By;
  std::vector<bool> nameless(found.fabric.nodes.size(), false);
  for (const SurveyOddity& odd : found.oddities) nameless[odd.node] = nameless[odd.node] || odd.mark == SurveyMark::nameless;
  Examples renamed, cards, placed;
  for (std::uint32_t d = 0; d < design.nodes.size(); ++d) {
    const std::uint32_t f = match.found_of[d];
    if (f == kNone) continue;
    const std::string &want = design.nodes[d].name, &have = found.fabric.nodes[f].name;
    if (match.by[d] == By::place) placed.add(fmt::format("{} for {}", have, want));
    if (want == have || nameless[f]) continue;
    if (match.by[d] == By::guid) renamed.add(fmt::format("{} is called {}", want, have));
    if (match.by[d] == By::name) cards.add(fmt::format("{} for {}", have, want));
  }
  std::vector<std::string> out;
  if (match.by_guid + match.by_name == 0 && match.by_place > 0) {
    out.emplace_back("no device has a guid or a name of the design's: hosts were taken in the order of their names");
  }
  if (match.cards_reordered) {
    out.push_back(
        fmt::format("cards are named in another order than in the design, at all hosts alike, as {}: it is names that differ, "
                    "and no cables; where cards are chosen by name (NCCL_IB_HCA), go by the names that were found",
                    cards.count > 0 ? cards.some.front() : placed.text()));
  }
  if (renamed.count > 0)
    out.push_back(renamed.number("device has", "devices have") + " the design's guid and another name: " + renamed.text());
  if (cards.count > 0)
    out.push_back(cards.number("device is", "devices are") + " known by the host's or the switch's name: " + cards.text());
  if (placed.count > 0) {
    out.push_back(placed.number("device is", "devices are") +
                  " known by their place only: a swap of whole ones cannot be seen: " + placed.text());
  }
  return out;
}

}  // namespace muster::design
