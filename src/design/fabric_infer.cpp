#include "design/fabric_infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/node_list.h"
#include "base/text.h"
#include "design/fabric_compare.h"
#include "design/fabric_difference.h"
#include "design/fabric_match.h"

namespace muster::design {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kSiblings = 3;  // fewer have no majority
constexpr double kAgree = 0.5;        // more than this share of those asked
constexpr std::size_t kDigits = 9;    // of a host's number
constexpr std::uint64_t kGap = 8;     // hosts in a row that may be gone
constexpr double kUsualRate = 0.75;   // of the links between two levels
constexpr std::size_t kCards = 64;    // of one host: what more bear, as "localhost", is no host's name

struct End {
  std::uint32_t node = kNone, port = 0;
  auto operator<=>(const End&) const = default;
};

class Inference {
 public:
  explicit Inference(const Fabric& found) : found_(found), names_(found) { out_.design.nodes = found.nodes; }

  InferredFabric run() {
    find_levels();
    read_cables();
    find_groups();
    adopt();
    for (const auto& group : groups_) columns(group);
    mutual();
    rows_below();
    absent_hosts();
    narrow_levels();
    place_cards();
    plug_in();
    return std::move(out_);
  }

 private:
  End far(std::uint32_t node, std::size_t port) const {
    const std::uint32_t l = found_.out(node, port);
    return l == Fabric::kNoLink ? End{} : End{found_.links[l].to, found_.links[l ^ 1U].port};
  }

  // How many cables a switch is from the nearest network card; cards are 0.
  void find_levels() {
    level_.assign(found_.nodes.size(), kNone);
    std::vector<std::uint32_t> queue;
    for (std::uint32_t n = 0; n < found_.nodes.size(); ++n) {
      if (!found_.nodes[n].is_switch) level_[n] = 0, queue.push_back(n);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (std::size_t p = 0; p < found_.nodes[queue[i]].out.size(); ++p) {
        const End e = far(queue[i], p);
        if (e.node == kNone || level_[e.node] != kNone) continue;
        level_[e.node] = level_[queue[i]] + 1;
        queue.push_back(e.node);
      }
    }
  }

  void read_cables() {
    for (std::uint32_t n = 0; n < found_.nodes.size(); ++n) {
      want_.emplace_back(found_.nodes[n].out.size());
      for (std::size_t p = 0; p < found_.nodes[n].out.size(); ++p) want_[n][p] = far(n, p);
    }
  }

  bool up(std::uint32_t node, const End& e) const { return e.node != kNone && level_[e.node] == level_[node] + 1; }

  // Siblings: those of a level that share more than half of the switches above.
  void find_groups() {
    std::vector<std::vector<std::uint32_t>> above_of;  // of a group's first
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> groups_below;
    for (std::uint32_t n = 0; n < found_.nodes.size(); ++n) {
      if (!found_.nodes[n].is_switch || level_[n] == kNone) continue;
      std::vector<std::uint32_t> above;
      for (std::size_t p = 0; p < found_.nodes[n].out.size(); ++p) {
        if (up(n, far(n, p))) above.push_back(far(n, p).node);
      }
      std::sort(above.begin(), above.end());
      above.erase(std::unique(above.begin(), above.end()), above.end());
      if (above.empty()) continue;
      std::map<std::size_t, std::size_t> shared;
      for (const std::uint32_t a : above) {
        for (const std::size_t g : groups_below[a]) ++shared[g];
      }
      std::size_t best = groups_.size();
      for (const auto& [g, count] : shared) {
        if (2 * count > std::max(above.size(), above_of[g].size()) && level_[groups_[g][0]] == level_[n]) best = g;
      }
      if (best == groups_.size()) {
        groups_.emplace_back();
        for (const std::uint32_t a : above) groups_below[a].push_back(best);
        above_of.push_back(std::move(above));
      }
      groups_[best].push_back(n);
    }
  }

  // One that lost most of its ways up is still of those whose same ports lead where its last ones do.
  void adopt() {
    for (std::size_t lone = 0; lone < groups_.size(); ++lone) {
      if (groups_[lone].size() >= kSiblings) continue;
      std::vector<std::uint32_t> stay;
      for (const std::uint32_t n : groups_[lone]) {
        std::vector<std::size_t> fit;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
          if (groups_[g].size() >= kSiblings && level_[groups_[g][0]] == level_[n] && leads_as(n, groups_[g])) fit.push_back(g);
        }
        if (fit.size() == 1) {
          groups_[fit[0]].push_back(n);
        } else {
          stay.push_back(n);
        }
      }
      groups_[lone] = std::move(stay);
    }
  }

  bool leads_as(std::uint32_t n, const std::vector<std::uint32_t>& group) const {
    const auto ways = ways_up(n);
    return !ways.empty() && std::all_of(ways.begin(), ways.end(), [&](const auto& way) {
      const auto like = [&](std::uint32_t m) { return far(m, way.first).node == way.second.node; };
      const auto count = std::count_if(group.begin(), group.end(), like);
      return static_cast<double>(count) > kAgree * static_cast<double>(group.size());
    });
  }

  // The k-th cable of a switch to one above: its own port, and where it ends there.
  std::vector<std::pair<std::uint32_t, End>> ways_up(std::uint32_t n) const {
    std::vector<std::pair<std::uint32_t, End>> out;
    for (std::size_t p = 0; p < found_.nodes[n].out.size(); ++p) {
      if (const End e = far(n, p); up(n, e)) out.emplace_back(static_cast<std::uint32_t>(p), e);
    }
    return out;
  }

  void columns(const std::vector<std::uint32_t>& group) {
    if (group.size() < kSiblings) return;
    std::size_t ports = 0;
    for (const std::uint32_t n : group) ports = std::max(ports, found_.nodes[n].out.size());
    std::vector<std::uint32_t> column(ports, kNone);  // by port: the switch that it leads to
    std::size_t first = ports, last = 0;
    for (std::size_t p = 1; p < ports; ++p) {
      std::map<std::uint32_t, std::size_t> votes;
      for (const std::uint32_t n : group) {
        if (const End e = far(n, p); up(n, e)) ++votes[e.node];
      }
      for (const auto& [to, count] : votes) {
        if (static_cast<double>(count) > kAgree * static_cast<double>(group.size())) column[p] = to;
      }
      if (column[p] != kNone) first = std::min(first, p), last = p;
    }
    holes(group, column, first, last);
    for (const std::uint32_t n : group) {
      for (std::size_t p = 1; p < ports; ++p) {
        if (column[p] == kNone) continue;
        if (far(n, p).node == column[p]) {
          if (const std::uint32_t q = arrives(n, p, column); q != 0 && q != far(n, p).port) {
            elsewhere_.push_back({n, static_cast<std::uint32_t>(p)});
            elsewhere_should_.push_back({column[p], q});
          }
          continue;
        }
        astray_.push_back({n, static_cast<std::uint32_t>(p)});
        should_.push_back({column[p], there(n, p, column)});
      }
    }
  }

  // At which port of the switch above: where its equals have this one, for the same place in the row of parallel cables.
  std::uint32_t there(std::uint32_t n, std::size_t port, const std::vector<std::uint32_t>& column) const {
    const auto place = [&](std::size_t p) {
      return std::count(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(p), column[p]);
    };
    std::map<std::uint32_t, std::size_t> votes;
    for (const auto& [p, e] : ways_up(n)) {
      if (p < column.size() && column[p] == e.node && place(p) == place(port)) ++votes[e.port];
    }
    std::uint32_t best = 0;
    std::size_t most = 0;
    for (const auto& [q, count] : votes) {
      if (count > most) most = count, best = q;
    }
    return best;
  }

  // At which port of those above this switch arrives by nearly all of its cables in the same place of a row; 0: at no one port.
  std::uint32_t arrives(std::uint32_t n, std::size_t port, const std::vector<std::uint32_t>& column) const {
    const std::uint32_t q = there(n, port, column);
    std::size_t here = 0, all = 0;
    for (const auto& [p, e] : ways_up(n)) {
      if (p >= column.size() || column[p] != e.node) continue;
      ++all;
      here += e.port == q ? 1 : 0;
    }
    return here >= kSiblings && here + 1 >= all ? q : 0;
  }

  // Cables that arrive at each other's ports of one switch changed places; one alone may be meant so.
  void mutual() {
    for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
      const End at = far(elsewhere_[i].node, elsewhere_[i].port);
      for (std::size_t k = 0; k < elsewhere_.size(); ++k) {
        if (elsewhere_should_[k] != at || far(elsewhere_[k].node, elsewhere_[k].port) != elsewhere_should_[i]) continue;
        astray_.push_back(elsewhere_[i]);
        should_.push_back(elsewhere_should_[i]);
      }
    }
  }

  void holes(const std::vector<std::uint32_t>& group, const std::vector<std::uint32_t>& column, std::size_t first,
             std::size_t last) {
    std::vector<std::string> ends;
    std::vector<std::string> ports;
    for (std::size_t p = first; p < last; ++p) {
      // What a cable that is only missing leads to is no switch that is off.
      const bool empty = column[p] == kNone && std::all_of(group.begin(), group.end(), [&](std::uint32_t n) {
                           const End e{n, static_cast<std::uint32_t>(p)};
                           return far(n, p).node == kNone && std::find(should_.begin(), should_.end(), e) == should_.end();
                         });
      if (!empty) continue;
      ports.push_back(std::to_string(p));
      for (const std::uint32_t n : group) {
        if (ends.size() < 32) ends.push_back(names_.end(n, p));
      }
    }
    // Where many are empty, it is the way that this network is cabled.
    const auto used = std::count_if(column.begin(), column.end(), [](std::uint32_t to) { return to != kNone; });
    if (ends.empty() || 2 * ports.size() >= static_cast<std::size_t>(used)) return;
    out_.faults.push_back({FabricFaultKind::dead_switch, std::move(ends),
                           fmt::format("{} switches like {} leave the ports {} empty, between others that they use", group.size(),
                                       names_.device(group[0]), join(ports, ", ")),
                           0.5, "look whether a switch stands there that is off, or give the design"});
  }

  // A switch of the lowest level that is gone leaves the same port empty at all that stood above it.
  void rows_below() {
    std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> alike;  // by what they lead to
    for (std::uint32_t n = 0; n < found_.nodes.size(); ++n) {
      if (!found_.nodes[n].is_switch || level_[n] == kNone || level_[n] < 2) continue;
      std::vector<std::uint32_t> below;
      for (std::size_t p = 1; p < found_.nodes[n].out.size(); ++p) {
        const End e = far(n, p);
        if (e.node != kNone && level_[e.node] + 1 == level_[n]) below.push_back(e.node);
      }
      if (below.size() >= kSiblings) alike[std::move(below)].push_back(n);
    }
    for (const auto& [below, group] : alike) {
      if (group.size() < kSiblings) continue;
      std::size_t ports = 0;
      for (const std::uint32_t n : group) ports = std::max(ports, found_.nodes[n].out.size());
      std::vector<std::uint32_t> column(ports, kNone);
      std::size_t first = ports, last = 0;
      for (std::size_t p = 1; p < ports; ++p) {
        const End e = far(group[0], p);
        if (e.node == kNone || level_[e.node] + 1 != level_[group[0]]) continue;
        column[p] = e.node;
        first = std::min(first, p), last = p;
      }
      holes(group, column, first, last);
    }
  }

  // A host that its numbering and the ports of its neighbours both leave room for.
  void absent_hosts() {
    struct Host {
      std::string_view stem;
      std::string_view digits;
      std::uint64_t number = 0;
      std::vector<std::uint32_t> cards;
    };
    std::map<std::string_view, Host> hosts;
    for (std::uint32_t n = 0; n < found_.nodes.size(); ++n) {
      if (found_.nodes[n].is_switch || far(n, 1).node == kNone) continue;
      const std::string_view name = host_of(found_.nodes[n].name);
      Host& h = hosts[name];
      h.cards.push_back(n);
      h.stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
      h.digits = name.substr(h.stem.size());
      h.number = h.digits.size() > kDigits ? 0 : parse_uint(h.digits).value_or(0);
    }
    std::vector<const Host*> row;
    for (auto& [name, h] : hosts) {
      if (h.digits.empty() || h.digits.size() > kDigits) continue;
      std::sort(h.cards.begin(), h.cards.end(),
                [&](std::uint32_t a, std::uint32_t b) { return natural_less(found_.nodes[a].name, found_.nodes[b].name); });
      row.push_back(&h);
    }
    std::sort(row.begin(), row.end(), [](const Host* a, const Host* b) {
      return std::tie(a->stem, a->number, a->digits) < std::tie(b->stem, b->number, b->digits);
    });
    std::size_t gaps = 0;
    std::vector<FabricFault> faults;
    for (std::size_t i = 1; i < row.size(); ++i) {
      const Host &a = *row[i - 1], &b = *row[i];
      if (a.stem != b.stem || b.number <= a.number + 1) continue;
      gaps += b.number - a.number - 1;
      if (b.number - a.number > kGap || a.cards.size() != b.cards.size()) continue;
      for (std::uint64_t number = a.number + 1; number < b.number; ++number) {
        FabricFault f{FabricFaultKind::dead_host, {fmt::format("{}{:0{}}", a.stem, number, a.digits.size())}, {}, 0.4, {}};
        for (std::size_t c = 0; c < a.cards.size(); ++c) {
          const End x = far(a.cards[c], 1), y = far(b.cards[c], 1);
          const std::uint32_t port = x.port + static_cast<std::uint32_t>(number - a.number);
          if (x.node != y.node || y.port != x.port + (b.number - a.number) || far(x.node, port).node != kNone) break;
          f.ends.push_back(names_.end(x.node, port));
        }
        if (f.ends.size() != a.cards.size() + 1) continue;
        f.detail = "the numbers of the hosts beside it, and the ports between theirs that are empty, leave room for it";
        f.fix = "look whether there is such a host, and whether it is on; give the design if it never was";
        faults.push_back(std::move(f));
      }
    }
    // Where many numbers are not given, it is the way that hosts are named here.
    if (8 * gaps > row.size() + 8) return;
    out_.faults.insert(out_.faults.end(), faults.begin(), faults.end());
  }

  // One lane is what no network is built with: cards that all have but one, below switches that have more.
  void narrow_levels() {
    std::uint32_t cards = 0, narrow = 0, wide = 0;
    std::uint32_t first = Fabric::kNoLink;
    for (std::uint32_t l = 0; l < found_.links.size(); ++l) {
      const FabricLink& link = found_.links[l];
      if (found_.out(link.from, link.port) != l) continue;
      const bool card = !found_.nodes[link.from].is_switch;
      if (!card && found_.nodes[link.to].is_switch) wide += link.lanes > 1 ? 1 : 0;
      if (!card || link.lanes == 0) continue;
      ++cards;
      narrow += link.lanes == 1 ? 1 : 0;
      if (link.lanes == 1 && first == Fabric::kNoLink) first = l;
    }
    if (cards == 0 || wide == 0 || 2 * narrow < cards) return;
    const FabricLink &l = found_.links[first], &back = found_.links[first ^ 1U];
    out_.faults.push_back(
        {FabricFaultKind::degraded_link,
         {names_.end(l.from, l.port), names_.end(back.from, back.port)},
         fmt::format("{} of {} network cards have one lane, cables between switches more: the first is named", narrow, cards),
         0.5,
         "compare the width that cards and switches are set to with what the cables carry"});
  }

  // Cards of a node stand at the same port of each rail's leaf.
  void place_cards() {
    const std::vector<int> rails = rails_of(found_);
    if (rails.empty()) return;
    std::map<std::string_view, std::vector<std::uint32_t>> hosts;
    for (std::uint32_t n = 0; n < found_.nodes.size(); ++n) {
      if (!found_.nodes[n].is_switch && far(n, 1).node != kNone) hosts[host_of(found_.nodes[n].name)].push_back(n);
    }
    std::erase_if(hosts, [](const auto& h) { return h.second.size() > kCards; });
    // Which leaf of a rail goes with a leaf of another: that of most nodes on both.
    std::map<std::pair<std::uint32_t, int>, std::map<std::uint32_t, std::size_t>> together;
    std::map<int, std::size_t> numbers;
    for (const auto& [host, cards] : hosts) {
      for (const std::uint32_t a : cards) {
        ++numbers[card_of(found_.nodes[a].name)];
        for (const std::uint32_t b : cards) {
          const std::uint32_t leaf = far(b, 1).node;
          if (a != b && rails[leaf] == card_of(found_.nodes[b].name)) ++together[{far(a, 1).node, rails[leaf]}][leaf];
        }
      }
    }
    const auto most = [](const auto& votes) {
      auto best = votes.begin();
      for (auto i = votes.begin(); i != votes.end(); ++i) {
        if (i->second > best->second) best = i;
      }
      return best->first;
    };
    const auto usual_cards = std::count_if(numbers.begin(), numbers.end(), [&](const auto& n) {
      return static_cast<double>(n.second) > kAgree * static_cast<double>(hosts.size());
    });
    for (const auto& [host, cards] : hosts) {
      if (cards.size() < 2 && usual_cards != 2) continue;
      for (const auto& [number, count] : numbers) {
        if (number < 0 || static_cast<double>(count) <= kAgree * static_cast<double>(hosts.size())) continue;
        std::map<End, std::size_t> votes;
        std::uint32_t own = kNone;
        for (const std::uint32_t c : cards) {
          const End at = far(c, 1);
          if (card_of(found_.nodes[c].name) == number) own = c;
          const auto mates = together.find({at.node, number});
          // Cards that are crossed among themselves still tell which leaves are their node's, and which port.
          if (rails[at.node] == number) {
            ++votes[at];
          } else if (mates != together.end()) {
            ++votes[{most(mates->second), at.port}];
          }
        }
        if (votes.empty()) continue;
        const End to = most(votes);
        // Of two rails the other card alone can tell, if its mate is the only one that is not there.
        const bool only_mate = own == kNone && usual_cards == 2 && cards.size() == 1 && far(to.node, to.port).node == kNone;
        if (votes[to] < 2 && !only_mate) continue;
        if (own != kNone && (far(own, 1).node == kNone || rails[far(own, 1).node] == number)) continue;
        if (own == kNone) own = absent_card(cards[0], number);
        astray_.push_back({own, 1});
        should_.push_back(to);
      }
    }
  }

  // A card that its node should have, and that nobody saw.
  std::uint32_t absent_card(std::uint32_t mate, int number) {
    const std::string& name = found_.nodes[mate].name;
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    want_.emplace_back(2);
    return out_.design.add({name.substr(0, digits) + std::to_string(number), 0, false, std::vector<std::uint32_t>()});
  }

  void plug_in() {
    const auto at = [&](const End& e) -> End& {
      if (want_[e.node].size() <= e.port) want_[e.node].resize(e.port + 1U);
      return want_[e.node][e.port];
    };
    const auto pull = [&](const End& e) {
      const End other = at(e);
      if (other.node != kNone) at(other) = {};
      at(e) = {};
    };
    // First all that are astray are pulled out, so that their places are free for those they belong to.
    for (const End& e : astray_) pull(e);
    for (std::size_t i = 0; i < astray_.size(); ++i) {
      End to = should_[i];
      const std::vector<End>& ports = want_[to.node];
      if (to.port == 0 || at(to).node != kNone) {
        to.port = 0;
        for (std::uint32_t q = 1; q < ports.size() && to.port == 0; ++q) {
          if (ports[q].node == kNone) to.port = q;
        }
        if (to.port == 0) continue;
      }
      at(astray_[i]) = to;
      at(to) = astray_[i];
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<double, std::pair<std::size_t, std::uint8_t>>> rates;
    const auto kind = [&](std::uint32_t a, std::uint32_t b) {
      const auto level = [&](std::uint32_t n) { return n < level_.size() ? level_[n] : 0; };
      return std::pair(std::min(level(a), level(b)), std::max(level(a), level(b)));
    };
    for (const FabricLink& l : found_.links) {
      auto& [count, lanes] = rates[kind(l.from, l.to)][l.gb_s];
      ++count;
      if (l.lanes > 0) lanes = l.lanes;
    }
    for (FabricNode& n : out_.design.nodes) n.out.clear();
    for (std::uint32_t n = 0; n < want_.size(); ++n) {
      for (std::uint32_t p = 0; p < want_[n].size(); ++p) {
        const End e = want_[n][p];
        if (e.node == kNone || e < End{n, p}) continue;
        const auto [gb_s, lanes] = usual(rates[kind(n, e.node)], n, p);
        out_.design.connect(n, static_cast<std::uint16_t>(p), e.node, static_cast<std::uint16_t>(e.port), gb_s, lanes);
      }
    }
  }

  // What most links of the kind run at, if nearly all do; else what this one does.
  std::pair<double, std::uint8_t> usual(const std::map<double, std::pair<std::size_t, std::uint8_t>>& rates, std::uint32_t n,
                                        std::uint32_t p) const {
    std::size_t all = 0;
    for (const auto& [rate, seen] : rates) all += seen.first;
    for (const auto& [rate, seen] : rates) {
      if (static_cast<double>(seen.first) >= kUsualRate * static_cast<double>(all)) return {rate, seen.second};
    }
    const std::uint32_t l = n < found_.nodes.size() ? found_.out(n, p) : Fabric::kNoLink;
    if (l != Fabric::kNoLink) return {found_.links[l].gb_s, found_.links[l].lanes};
    return rates.empty() ? std::pair<double, std::uint8_t>{1, 0}
                         : std::pair{rates.rbegin()->first, rates.rbegin()->second.second};
  }

  const Fabric& found_;
  EndNames names_;
  std::vector<std::uint32_t> level_;
  std::vector<std::vector<End>> want_;  // by node and port
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<End> astray_, should_;               // ends of cables, and where those belong
  std::vector<End> elsewhere_, elsewhere_should_;  // likewise, at another port of the right switch
  InferredFabric out_;
};

}  // namespace

InferredFabric infer_fabric(const Fabric& found) {
  if (std::none_of(found.nodes.begin(), found.nodes.end(), is_aggregation_node)) return Inference(found).run();
  FabricSurvey all;
  all.fabric = found;
  std::uint32_t left_out = 0;
  return Inference(without_aggregation(all, left_out).fabric).run();
}

}  // namespace muster::design
