#include "design/fabric_match.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/node_list.h"

namespace muster::design {
namespace {

constexpr std::uint32_t kNone = FabricMatch::kNone;
constexpr std::size_t kAmissMany = 16;  // ends of cables that lead elsewhere: fewer are faults, whatever names say
constexpr std::size_t kAmissLeft = 10;  // another order of names must leave one in so many

// "MF0;leaf-04:MQM9700/U1", as managed switches describe themselves, is leaf-04.
std::string_view own_name(std::string_view description) {
  const std::size_t semicolon = description.find(';'), colon = description.find(':');
  if (semicolon == std::string_view::npos || colon == std::string_view::npos || colon < semicolon) return description;
  return description.substr(semicolon + 1, colon - semicolon - 1);
}

class Matcher {
 public:
  Matcher(const Fabric& design, const Fabric& found) : design_(design), found_(found) {}

  FabricMatch run() {
    match();
    const std::vector<Label> wanted = usual(wanted_), there = usual(there_);
    const std::size_t before = amiss();
    if (wanted.size() != there.size() || there.size() < 2 || before < std::max(kAmissMany, there_.size() / 4))
      return std::move(out_);
    FabricMatch best = std::move(out_);
    std::size_t least = before / kAmissLeft + 1;
    for (const Label& l : wanted) {
      auto order = order_if(there, there.front(), l);
      if (order.size() != there.size() || order == stands_for_) continue;  // unclear, or tried
      stands_for_ = std::move(order);
      reordered_ = true;
      match();
      if (const std::size_t left = amiss(); left < least) least = left, best = out_;
    }
    return best;
  }

 private:
  void begin() {
    out_ = {};
    out_.found_of.assign(design_.nodes.size(), kNone);
    out_.design_of.assign(found_.nodes.size(), kNone);
    out_.by.assign(design_.nodes.size(), By::nothing);
    out_.cards_reordered = reordered_;
    guids();
    switch_names();
    find_hosts();
  }

  void match() {
    begin();
    if (!reordered_) learn_card_names();
    named_hosts();
    if (out_.by_guid + out_.by_name == 0) hosts_in_order();
    while (places(true)) {
    }
    foreign_hosts();
    while (places(true) || places(false)) {
    }
  }

  using By = FabricMatch::By;
  using Label = std::pair<std::string_view, std::uint16_t>;  // a card's name in its host, and its port
  struct Labels {
    bool operator()(const Label& a, const Label& b) const {
      // Addresses on a bus are hexadecimal, and as wide as each other.
      const bool a_bus = a.first.find(':') != std::string_view::npos, b_bus = b.first.find(':') != std::string_view::npos;
      if (a_bus != b_bus) return b_bus;
      if (!a_bus && natural_less(a.first, b.first)) return true;
      if (!a_bus && natural_less(b.first, a.first)) return false;
      return a < b;
    }
  };
  using Order = std::map<Label, Label, Labels>;          // which card of the design a name stands for
  using Cards = std::map<Label, std::uint32_t, Labels>;  // of one host, in their order
  using Hosts = std::map<std::string_view, Cards>;

  void join(std::uint32_t d, std::uint32_t f, By by) {
    out_.found_of[d] = f, out_.design_of[f] = d, out_.by[d] = by;
    ++(by == By::guid ? out_.by_guid : by == By::name ? out_.by_name : out_.by_place);
  }
  bool same_kind(std::uint32_t d, std::uint32_t f) const { return design_.nodes[d].is_switch == found_.nodes[f].is_switch; }

  void guids() {
    std::unordered_map<std::uint64_t, std::uint32_t> by_guid;
    by_guid.reserve(design_.nodes.size());
    for (std::uint32_t d = 0; d < design_.nodes.size(); ++d) {
      if (design_.nodes[d].guid != 0) by_guid.try_emplace(design_.nodes[d].guid, d);
    }
    // Of two devices with one guid the one that is also called so is meant.
    for (const bool named : {true, false}) {
      for (std::uint32_t f = 0; f < found_.nodes.size(); ++f) {
        if (out_.design_of[f] != kNone) continue;
        const auto at = by_guid.find(found_.nodes[f].guid);
        if (at == by_guid.end() || out_.found_of[at->second] != kNone || !same_kind(at->second, f)) continue;
        if (named && design_.nodes[at->second].name != found_.nodes[f].name) continue;
        join(at->second, f, By::guid);
      }
    }
  }

  // Of names that one alone bears, on either side.
  void switch_names() {
    const auto named = [](const Fabric& fabric, const std::vector<std::uint32_t>& other) {
      std::unordered_map<std::string_view, std::uint32_t> out;
      for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (!fabric.nodes[i].is_switch || other[i] != kNone) continue;
        const auto [at, fresh] = out.try_emplace(own_name(fabric.nodes[i].name), i);
        if (!fresh) at->second = kNone;
      }
      return out;
    };
    const auto wanted = named(design_, out_.found_of), there = named(found_, out_.design_of);
    for (std::uint32_t d = 0; d < design_.nodes.size(); ++d) {
      const std::string_view name = own_name(design_.nodes[d].name);
      const auto w = wanted.find(name), t = there.find(name);
      if (w == wanted.end() || w->second != d || t == there.end() || t->second == kNone) continue;
      join(d, t->second, By::name);
    }
  }

  // The hosts of cards that are not known yet. A host with two cards of one name is none: which is which cannot be told.
  static Hosts hosts_of(const Fabric& fabric, const std::vector<std::uint32_t>& other) {
    Hosts out;
    std::vector<std::string_view> ambiguous;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
      const FabricNode& n = fabric.nodes[i];
      if (n.is_switch || other[i] != kNone) continue;
      const std::string_view host = host_of(n.name);
      if (!out[host].try_emplace({card_name_of(n.name), n.card_port}, i).second) ambiguous.push_back(host);
    }
    for (const std::string_view host : ambiguous) out.erase(host);
    return out;
  }

  void find_hosts() { wanted_ = hosts_of(design_, out_.found_of), there_ = hosts_of(found_, out_.design_of); }

  // Names that more than half of the hosts have a card of.
  static std::vector<Label> usual(const Hosts& hosts) {
    std::map<Label, std::size_t, Labels> counts;
    for (const auto& [host, cards] : hosts) {
      for (const auto& [label, node] : cards) ++counts[label];
    }
    std::vector<Label> out;
    for (const auto& [label, count] : counts) {
      if (2 * count > hosts.size()) out.push_back(label);
    }
    return out;
  }

  Label label(const Fabric& fabric, std::uint32_t node) const {
    return {card_name_of(fabric.nodes[node].name), fabric.nodes[node].card_port};
  }

  // Every port of a switch that is known, where the design has a card and one was found: (design's, found).
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cards_at_places() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
    for (std::uint32_t d = 0; d < design_.nodes.size(); ++d) {
      const std::uint32_t f = out_.found_of[d];
      for (std::size_t p = 1; f != kNone && design_.nodes[d].is_switch && p < design_.nodes[d].out.size(); ++p) {
        const std::uint32_t want = design_.out(d, p), have = found_.out(f, p);
        if (want == Fabric::kNoLink || have == Fabric::kNoLink) continue;
        const std::uint32_t to = design_.links[want].to, at = found_.links[have].to;
        if (!design_.nodes[to].is_switch && !found_.nodes[at].is_switch) out.emplace_back(to, at);
      }
    }
    return out;
  }

  // Which card of the design a name stands for. The same names stand for themselves, even if all hosts are cabled otherwise.
  void learn_card_names() {
    const std::vector<Label> wanted = usual(wanted_), there = usual(there_);
    if (wanted == there) {
      for (const Label& l : wanted) stands_for_[l] = l;
      return;
    }
    Order most = order_at_places(there);
    if (!most.empty()) {
      stands_for_ = std::move(most);
    } else if (wanted.size() == there.size()) {
      for (std::size_t i = 0; i < there.size(); ++i) stands_for_[there[i]] = wanted[i];
    }
  }

  // Which card of the design most hosts have each of these names at the places of; empty: that is not clear.
  Order order_at_places(const std::vector<Label>& there) const {
    std::map<Label, std::map<Label, std::size_t, Labels>, Labels> votes;
    for (const auto& [d, f] : cards_at_places()) ++votes[label(found_, f)][label(design_, d)];
    Order most;
    std::set<Label> taken;
    bool sure = !there.empty();
    for (const Label& l : there) {
      std::size_t all = 0, best = 0;
      for (const auto& [to, count] : votes[l]) {
        all += count;
        if (count > best) best = count, most[l] = to;
      }
      const bool clear = all >= 3 && 2 * best > all && taken.insert(most[l]).second;
      if (!clear) most.erase(l);
      // A card that is cabled where the design has none is none of the design's.
      sure &= clear || all == 0;
    }
    return sure ? most : Order();
  }

  // The order of all names if one of them stands for a card of the design: that one's places tell which switches are which,
  // and these tell of the others. A wrong guess puts two names at one card.
  Order order_if(const std::vector<Label>& there, const Label& name, const Label& stands_for) {
    begin();
    for (const auto& [host, cards] : wanted_) {
      const auto at = there_.find(host);
      if (at == there_.end()) continue;
      const auto d = cards.find(stands_for);
      const auto f = at->second.find(name);
      if (d != cards.end() && f != at->second.end()) join(d->second, f->second, By::name);
    }
    while (places(true)) {
    }
    return order_at_places(there);
  }

  // Ends of the design's cables at which another was found.
  std::size_t amiss() const {
    std::size_t out = 0;
    for (std::uint32_t d = 0; d < design_.nodes.size(); ++d) {
      const std::uint32_t f = out_.found_of[d];
      for (std::size_t p = 0; f != kNone && p < design_.nodes[d].out.size(); ++p) {
        const std::uint32_t want = design_.out(d, p), have = found_.out(f, p);
        if (want == Fabric::kNoLink || have == Fabric::kNoLink) continue;
        const bool same = out_.found_of[design_.links[want].to] == found_.links[have].to &&
                          design_.links[want ^ 1U].port == found_.links[have ^ 1U].port;
        out += same ? 0 : 1;
      }
    }
    return out;
  }

  void join_hosts(const Cards& wanted, const Cards& there, By by) {
    const auto free_now = [](const Cards& cards, const std::vector<std::uint32_t>& other) {
      Cards out;
      for (const auto& [label, node] : cards) {
        if (other[node] == kNone) out.emplace(label, node);
      }
      return out;
    };
    const Cards want = free_now(wanted, out_.found_of), have = free_now(there, out_.design_of);
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    const bool as_named = !reordered_ && want.size() == have.size() && std::equal(want.begin(), want.end(), have.begin(), same);
    bool any = false;
    for (const auto& [label, f] : have) {
      const auto known = stands_for_.find(label);
      if (!as_named && known == stands_for_.end()) continue;
      const auto d = want.find(as_named ? label : known->second);
      if (d == want.end() || out_.found_of[d->second] != kNone) continue;
      join(d->second, f, by);
      any = true;
    }
    if (any || want.size() != have.size()) return;
    for (auto d = want.begin(), f = have.begin(); d != want.end(); ++d, ++f) join(d->second, f->second, by);
  }

  void named_hosts() {
    for (const auto& [host, cards] : wanted_) {
      if (const auto at = there_.find(host); at != there_.end()) join_hosts(cards, at->second, By::name);
    }
  }

  // Nothing has a guid or a name of the design's: hosts that are as many as designed are taken in the order of their names.
  void hosts_in_order() {
    if (wanted_.size() != there_.size()) return;
    const auto ordered = [](const Hosts& hosts) {
      std::vector<std::pair<std::string_view, const Cards*>> in_order;
      for (const auto& [host, cards] : hosts) in_order.emplace_back(host, &cards);
      std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) { return natural_less(a.first, b.first); });
      return in_order;
    };
    const auto want = ordered(wanted_), have = ordered(there_);
    for (std::size_t i = 0; i < want.size(); ++i) join_hosts(*want[i].second, *have[i].second, By::place);
  }

  // Hosts of which nothing is known, each as a whole: those go together that meet at the most places.
  void foreign_hosts() {
    const auto strange = [](const Hosts& hosts, const std::vector<std::uint32_t>& other, std::string_view host) {
      const auto at = hosts.find(host);
      return at != hosts.end() &&
             std::all_of(at->second.begin(), at->second.end(), [&](const auto& card) { return other[card.second] == kNone; });
    };
    std::map<std::pair<std::string_view, std::string_view>, std::int64_t> votes;
    for (const auto& [d, f] : cards_at_places()) {
      const std::string_view want = host_of(design_.nodes[d].name), have = host_of(found_.nodes[f].name);
      if (strange(wanted_, out_.found_of, want) && strange(there_, out_.design_of, have)) --votes[{want, have}];
    }
    std::vector<std::tuple<std::int64_t, std::string_view, std::string_view>> ranked;  // most first
    for (const auto& [hosts, less] : votes) ranked.emplace_back(less, hosts.first, hosts.second);
    std::sort(ranked.begin(), ranked.end());
    std::set<std::string_view> wanted_taken, there_taken;
    for (const auto& [less, want, have] : ranked) {
      if (wanted_taken.contains(want) || there_taken.contains(have)) continue;
      wanted_taken.insert(want), there_taken.insert(have);
      join_hosts(wanted_.at(want), there_.at(have), By::place);
    }
  }

  // Whoever stands where another should, at most ports that speak of either, is that one.
  bool places(bool switches) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> votes;
    for (std::uint32_t d = 0; d < design_.nodes.size(); ++d) {
      const std::uint32_t f = out_.found_of[d];
      if (f == kNone) continue;
      for (std::size_t p = 0; p < design_.nodes[d].out.size(); ++p) {
        const std::uint32_t want = design_.out(d, p), have = found_.out(f, p);
        if (want == Fabric::kNoLink || have == Fabric::kNoLink) continue;
        const std::uint32_t to = design_.links[want].to, at = found_.links[have].to;
        if (design_.nodes[to].is_switch != switches || !same_kind(to, at)) continue;
        if (out_.found_of[to] == kNone && out_.design_of[at] == kNone) votes.emplace_back(to, at);
      }
    }
    std::sort(votes.begin(), votes.end());
    std::vector<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>> ranked;  // most votes first
    for (std::size_t i = 0; i < votes.size();) {
      std::size_t end = i;
      while (end < votes.size() && votes[end] == votes[i]) ++end;
      ranked.emplace_back(-static_cast<std::int64_t>(end - i), votes[i].first, votes[i].second);
      i = end;
    }
    std::sort(ranked.begin(), ranked.end());
    bool any = false;
    for (const auto& [votes_less, d, f] : ranked) {
      if (out_.found_of[d] != kNone || out_.design_of[f] != kNone) continue;
      join(d, f, By::place);
      any = true;
    }
    return any;
  }

  const Fabric& design_;
  const Fabric& found_;
  Hosts wanted_, there_;
  Order stands_for_;
  bool reordered_ = false;  // it is of another order of the cards' names than they themselves tell
  FabricMatch out_;
};

}  // namespace

FabricMatch match_fabrics(const Fabric& design, const Fabric& found) { return Matcher(design, found).run(); }

std::string_view host_of(std::string_view name) { return name.substr(0, name.find_first_of(" \t")); }

std::string_view card_name_of(std::string_view name) {
  const std::size_t host = host_of(name).size();
  const std::size_t begin = name.find_first_not_of(" \t", host);
  return begin == std::string_view::npos ? std::string_view() : name.substr(begin);
}

bool is_aggregation_node(const FabricNode& node) {
  return !node.is_switch && node.name.find("Aggregation Node") != std::string::npos;
}

int card_of(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end == name.size() || name.size() - end > 4 || name.find_first_of(" \t") >= end) return -1;
  int card = 0;
  for (const char c : name.substr(end)) card = 10 * card + (c - '0');
  return card;
}

}  // namespace muster::design
