// The checker: slow, plain, and written without the search's formulas.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "decide/place/certificate.h"

namespace muster::decide {
namespace {

class Checker {
 public:
  Checker(const Layout& layout, const Occupancy& occupancy, const Shape& shape)
      : layout_(nested(layout)), occupancy_(occupancy), shape_(shape), segment_(std::max(shape.segment, 1U)) {}

  std::string fault(const Choice& choice) const;
  bool any() const;

 private:
  using Rooms = std::vector<std::vector<std::uint32_t>>;  // by leaf, then by domain

  std::uint32_t group(std::uint32_t node, Level level) const;
  std::uint32_t room(std::uint32_t node, bool empty) const;
  std::map<std::uint32_t, Rooms> rooms(Level level, bool empty) const;  // by group
  bool fits(const Rooms& leaves, std::uint32_t pieces) const;
  std::uint32_t most(const Rooms& leaves) const;
  std::uint32_t most_of_one(Level level) const;
  std::uint32_t fewest_leaves(const Rooms& leaves) const;
  std::string fault_of_node(const Choice& choice, std::size_t i) const;
  std::string fault_of_nodes(const Choice& choice) const;
  std::string fault_of_certificate(const Choice& choice) const;
  std::uint32_t pieces_on(const Choice& choice, std::size_t i) const {
    return shape_.gpus == 0 ? 1 : static_cast<std::uint32_t>(std::popcount(choice.slots[i])) / shape_.gpus;
  }

  Layout layout_;
  const Occupancy& occupancy_;
  const Shape& shape_;
  std::uint32_t segment_;
};

std::uint32_t Checker::group(std::uint32_t node, Level level) const {
  const auto& n = layout_.nodes[node];
  switch (level) {
    case Level::node: return node;
    case Level::domain: return n.domain;
    case Level::leaf: return n.leaf;
    case Level::pod: return n.pod;
    case Level::core: return 0;
  }
  return 0;
}

std::uint32_t Checker::room(std::uint32_t node, bool empty) const {
  const auto& n = layout_.nodes[node];
  if (!suits(shape_, n.model, n.pools)) return 0;
  if (!empty && !occupancy_.nodes[node].open) return 0;
  std::uint32_t good = 0;
  for (std::uint32_t g = 0; g < n.gpus; ++g) {
    if (empty || occupancy_.nodes[node].taken[g] + (shape_.milli < 1000 ? shape_.milli : 1000) <= 1000) ++good;
  }
  if (shape_.gpus == 0) return n.gpus > 0 && good == n.gpus ? 1 : 0;
  return good / shape_.gpus;
}

// Every group of a level at once: one look at each node, however many groups there are.
std::map<std::uint32_t, Checker::Rooms> Checker::rooms(Level level, bool empty) const {
  struct Row {
    std::uint32_t group, leaf, domain, room;
  };
  std::vector<Row> rows;
  rows.reserve(layout_.nodes.size());
  for (std::uint32_t n = 0; n < layout_.nodes.size(); ++n) {
    rows.push_back({group(n, level), layout_.nodes[n].leaf, layout_.nodes[n].domain, room(n, empty)});
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return std::tie(a.group, a.leaf, a.domain) < std::tie(b.group, b.leaf, b.domain); });
  std::map<std::uint32_t, Rooms> out;
  const Row* last = nullptr;
  for (const Row& r : rows) {
    const bool same_group = last != nullptr && last->group == r.group;
    const bool same_leaf = same_group && last->leaf == r.leaf;
    Rooms& leaves = same_group ? out.rbegin()->second : out[r.group];
    if (!same_leaf) leaves.emplace_back();
    if (!same_leaf || last->domain != r.domain) leaves.back().push_back(0);
    leaves.back().back() += r.room;
    last = &r;
  }
  return out;
}

// Tries each domain as the home of the short segment.
bool Checker::fits(const Rooms& leaves, std::uint32_t pieces) const {
  const std::uint32_t whole = pieces / segment_, rest = pieces % segment_;
  std::vector<std::uint32_t> domains;
  for (const auto& leaf : leaves) domains.insert(domains.end(), leaf.begin(), leaf.end());
  const auto holds = [&](std::size_t home) {
    std::uint32_t places = 0;
    for (std::size_t d = 0; d < domains.size(); ++d) {
      if (d == home && domains[d] < rest) return false;
      places += (domains[d] - (d == home ? rest : 0)) / segment_;
    }
    return places >= whole;
  };
  if (rest == 0) return holds(domains.size());
  for (std::size_t home = 0; home < domains.size(); ++home) {
    if (holds(home)) return true;
  }
  return false;
}

std::uint32_t Checker::most(const Rooms& leaves) const {
  std::uint32_t pieces = 0;
  for (const auto& leaf : leaves) {
    for (const auto r : leaf) pieces += r;
  }
  while (pieces > 0 && !fits(leaves, pieces)) --pieces;
  return pieces;
}

// The most that any one group of the level could take.
std::uint32_t Checker::most_of_one(Level level) const {
  std::uint32_t best = 0;
  if (level > Level::domain) {
    for (const auto& [g, leaves] : rooms(level, false)) best = std::max(best, most(leaves));
    return best;
  }
  // A node or a domain takes as many as it has room for, however they are cut into segments.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  all.reserve(layout_.nodes.size());
  for (std::uint32_t n = 0; n < layout_.nodes.size(); ++n) all.emplace_back(group(n, level), room(n, false));
  std::sort(all.begin(), all.end());
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum = (i > 0 && all[i - 1].first == all[i].first ? sum : 0) + all[i].second;
    best = std::max(best, sum);
  }
  return best;
}

// UINT32_MAX when all of them together do not hold the gang.
std::uint32_t Checker::fewest_leaves(const Rooms& all) const {
  if (!fits(all, shape_.pieces)) return UINT32_MAX;
  Rooms leaves;
  for (const auto& leaf : all) {
    if (std::any_of(leaf.begin(), leaf.end(), [](auto r) { return r > 0; })) leaves.push_back(leaf);
  }
  if (leaves.size() > 16) {
    std::stable_sort(leaves.begin(), leaves.end(), [&](const auto& a, const auto& b) { return most({a}) > most({b}); });
    for (std::uint32_t k = 1;; ++k) {
      if (fits(Rooms(leaves.begin(), leaves.begin() + k), shape_.pieces)) return k;
    }
  }
  std::uint32_t best = UINT32_MAX;
  for (std::uint32_t set = 1; set < (1U << leaves.size()); ++set) {
    if (static_cast<std::uint32_t>(std::popcount(set)) >= best) continue;
    Rooms chosen;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if ((set >> i & 1) != 0) chosen.push_back(leaves[i]);
    }
    if (fits(chosen, shape_.pieces)) best = static_cast<std::uint32_t>(chosen.size());
  }
  return best;
}

std::string Checker::fault_of_node(const Choice& choice, std::size_t i) const {
  const std::uint32_t n = choice.nodes[i].v;
  const auto& node = layout_.nodes[n];
  if (!occupancy_.nodes[n].open) return fmt::format("node {} is closed", n);
  if (!suits(shape_, node.model, node.pools)) return fmt::format("node {} has another GPU model, or is not in the pool", n);
  if (choice.slots[i] == 0 || choice.slots[i] >> node.gpus != 0) return fmt::format("node {} has no such GPUs", n);
  const auto gpus = static_cast<std::uint32_t>(std::popcount(choice.slots[i]));
  if (shape_.gpus == 0 ? gpus != node.gpus : gpus % shape_.gpus != 0) return fmt::format("a piece is cut short on node {}", n);
  for (std::uint32_t g = 0; g < node.gpus; ++g) {
    const bool used = (choice.slots[i] >> g & 1) != 0;
    if (used && occupancy_.nodes[n].taken[g] + shape_.milli > 1000) return fmt::format("GPU {} of node {} is taken", g, n);
  }
  return {};
}

std::string Checker::fault_of_nodes(const Choice& choice) const {
  if (choice.nodes.size() != choice.slots.size()) return "nodes and slots differ in number";
  std::uint32_t pieces = 0;
  std::map<std::uint32_t, std::uint32_t> by_domain;
  for (std::size_t i = 0; i < choice.nodes.size(); ++i) {
    if (choice.nodes[i].v >= layout_.nodes.size()) return "a node that does not exist";
    if (i > 0 && choice.nodes[i - 1].v >= choice.nodes[i].v) return "nodes are not in order";
    if (auto fault = fault_of_node(choice, i); !fault.empty()) return fault;
    pieces += pieces_on(choice, i);
    by_domain[layout_.nodes[choice.nodes[i].v].domain] += pieces_on(choice, i);
  }
  if (pieces != shape_.pieces) return fmt::format("{} pieces instead of {}", pieces, shape_.pieces);
  std::uint32_t whole = 0, short_ones = 0;
  for (const auto& [domain, here] : by_domain) {
    whole += here / segment_;
    short_ones += here % segment_ != 0 ? 1 : 0;
  }
  const bool has_rest = shape_.pieces % segment_ != 0;
  if (whole != shape_.pieces / segment_ || short_ones != (has_rest ? 1U : 0U)) return "a segment is split over domains";
  return {};
}

std::string Checker::fault_of_certificate(const Choice& choice) const {
  const Certificate& c = choice.certificate;
  if (c.level > shape_.required) return "the level is above the one required";
  std::set<std::uint32_t> leaves;
  for (const NodeId n : choice.nodes) {
    if (group(n.v, c.level) != c.group) return fmt::format("node {} is not in the group named", n.v);
    leaves.insert(layout_.nodes[n.v].leaf);
  }
  if (c.leaves != leaves.size()) return fmt::format("{} leaves used, not {}", leaves.size(), c.leaves);
  if (c.best_below.size() != static_cast<std::size_t>(c.level)) return "best_below has the wrong length";
  for (std::size_t level = 0; level < c.best_below.size(); ++level) {
    const std::uint32_t best = most_of_one(static_cast<Level>(level));
    if (best >= shape_.pieces) return fmt::format("a {} holds the gang", name(static_cast<Level>(level)));
    if (best != c.best_below[level]) {
      return fmt::format("a {} takes up to {}, not {}", name(static_cast<Level>(level)), best, c.best_below[level]);
    }
  }
  const std::map<std::uint32_t, Rooms> here = rooms(c.level, false);
  const auto mine = here.find(c.group);
  const std::uint32_t least = mine == here.end() ? UINT32_MAX : fewest_leaves(mine->second);
  if (c.leaves_min > least) return fmt::format("{} leaves would do, the bound says {}", least, c.leaves_min);
  if (c.leaves != least) return fmt::format("{} leaves would do, {} were used", least, c.leaves);
  for (const auto& [g, leaves_of] : here) {
    if (const auto other = fewest_leaves(leaves_of); other < least) {
      return fmt::format("{} {} would need {} leaves only", name(c.level), g, other);
    }
  }
  std::uint32_t empty = UINT32_MAX;
  for (const auto& [g, leaves_of] : rooms(shape_.required, true)) empty = std::min(empty, fewest_leaves(leaves_of));
  if (empty != c.leaves_empty) return fmt::format("an empty cluster needs {} leaves, not {}", empty, c.leaves_empty);
  return {};
}

std::string Checker::fault(const Choice& choice) const {
  auto nodes = fault_of_nodes(choice);
  return nodes.empty() ? fault_of_certificate(choice) : nodes;
}

bool Checker::any() const {
  const auto all = rooms(shape_.required, false);
  return std::any_of(all.begin(), all.end(), [&](const auto& g) { return fits(g.second, shape_.pieces); });
}

}  // namespace

bool any_choice_exists(const Layout& layout, const Occupancy& occupancy, const Shape& shape) {
  return Checker(layout, occupancy, shape).any();
}

bool certificate_holds(const Layout& layout, const Occupancy& occupancy, const Shape& shape, const Choice& choice,
                       std::string* why_not) {
  const std::string fault = Checker(layout, occupancy, shape).fault(choice);
  if (why_not != nullptr) *why_not = fault;
  return fault.empty();
}

}  // namespace muster::decide
