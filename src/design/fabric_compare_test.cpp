#include "design/fabric_compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "base/prng.h"
#include "design/fabric_match.h"
#include "design/fabrics.h"
#include "model/fields.h"

namespace muster::design {
namespace {

using Kind = FabricFaultKind;

// What libibnetdisc finds from one network card on: it asks each device who it is, then for its name and for the state of each
// port, and goes on through the ports that are up. A device that loses packets leaves each question unanswered with a chance.
class Discovery {
 public:
  Discovery(const Fabric& truth, std::uint32_t root, std::uint32_t lossy, double loss, Prng& prng)
      : truth_(truth), lossy_(lossy), loss_(loss), prng_(prng), found_(truth.nodes.size(), Fabric::kNoLink) {
    for (std::uint32_t i = 0; i < truth.nodes.size(); ++i) heard_.emplace_back(truth.nodes[i].out.size(), false);
    linked_.assign(truth.links.size(), false);
    meet(root);
    while (!queue_.empty()) {
      const std::uint32_t link = queue_.front();
      queue_.pop_front();
      const std::uint32_t to = truth_.links[link].to;
      if (!answers(to)) continue;
      linked_[link] = linked_[link ^ 1U] = true;
      meet(to);
    }
  }

  bool knows(std::uint32_t node) const { return found_[node] != Fabric::kNoLink; }

  // As iblinkinfo tells it.
  std::vector<PortState> ports() const {
    std::vector<PortState> out;
    for (std::uint32_t i = 0; i < truth_.nodes.size(); ++i) {
      const FabricNode& n = truth_.nodes[i];
      for (std::size_t p = 1; knows(i) && p < n.out.size(); ++p) {
        if (!heard_[i][p]) continue;
        PortState state;
        state.here = {n.guid, n.name, static_cast<int>(p)};
        state.physical = n.out[p] == Fabric::kNoLink ? "Polling" : "LinkUp";
        out.push_back(std::move(state));
      }
    }
    return out;
  }

  FabricSurvey survey() {
    for (std::uint32_t i = 0; i < truth_.links.size(); i += 2) {
      if (!linked_[i]) continue;
      const FabricLink &l = truth_.links[i], &back = truth_.links[i + 1];
      const bool told = heard_[l.from][l.port] || heard_[back.from][back.port];
      out_.fabric.connect(found_[l.from], l.port, found_[l.to], back.port, l.gb_s, told ? l.lanes : std::uint8_t{0});
      for (const FabricLink& one : {l, back}) {
        if (!heard_[one.from][one.port]) out_.oddities.push_back({SurveyMark::no_rate, found_[one.from], one.port});
      }
    }
    return std::move(out_);
  }

 private:
  bool answers(std::uint32_t node) { return node != lossy_ || !prng_.chance(loss_); }

  void meet(std::uint32_t node) {
    const FabricNode& n = truth_.nodes[node];
    if (found_[node] != Fabric::kNoLink) return;
    found_[node] = out_.fabric.add({n.name, n.guid, n.is_switch, {}, n.card_port});
    if (!answers(node)) {
      out_.fabric.nodes[found_[node]].name = "S-unnamed";
      out_.oddities.push_back({SurveyMark::nameless, found_[node], 0});
    }
    if (n.is_switch && !answers(node)) out_.oddities.push_back({SurveyMark::base_port, found_[node], 0});
    if (!answers(node)) {  // the port that has the address
      out_.oddities.push_back({SurveyMark::no_lid, found_[node], 0});
      return;
    }
    for (std::size_t p = 1; p < n.out.size(); ++p) {
      if (n.is_switch && !answers(node)) continue;
      heard_[node][p] = true;
      if (n.out[p] == Fabric::kNoLink) continue;
      if (n.is_switch || queue_.empty()) queue_.push_back(n.out[p]);
    }
  }

  const Fabric& truth_;
  std::uint32_t lossy_;
  double loss_;
  Prng& prng_;
  std::vector<std::uint32_t> found_;
  std::vector<std::vector<bool>> heard_;
  std::vector<bool> linked_;
  std::deque<std::uint32_t> queue_;
  FabricSurvey out_;
};

struct Injected {
  std::string what;
  std::vector<Kind> kinds;  // any of them names it
  std::vector<std::string> ends;
};

// A fabric, and the ways to harm a copy of it.
class Harm {
 public:
  Harm(const Fabric& design, std::uint64_t seed)
      : design_(design), truth(design), names_(design), rails_(rails_of(design)), prng(seed, "harm") {
    for (FabricLink& l : truth.links) l.lanes = 4;
    const auto all = design.endpoints();
    root = all[prng.below(all.size())];
  }

  std::string end(std::uint32_t link) const { return names_.end(truth.links[link].from, truth.links[link].port); }
  bool live(std::uint32_t link) const { return truth.out(truth.links[link].from, truth.links[link].port) == link; }
  bool of_root(std::uint32_t link) const { return truth.links[link].from == root || truth.links[link].to == root; }
  bool touched(std::uint32_t link) const { return std::find(taken_.begin(), taken_.end(), link & ~1U) != taken_.end(); }

  // Of a cable that is still as designed.
  std::uint32_t any_cable() {
    for (;;) {
      const auto link = static_cast<std::uint32_t>(prng.below(design_.links.size()));
      if (live(link) && !of_root(link) && !touched(link)) return link;
    }
  }
  std::uint32_t any_switch() {
    for (;;) {
      const auto n = static_cast<std::uint32_t>(prng.below(truth.nodes.size()));
      const std::uint32_t leaf = truth.links[design_.nodes[root].out[1]].to;
      if (truth.nodes[n].is_switch && n != leaf && n != lossy) return n;
    }
  }

  void cut() {
    const std::uint32_t l = any_cable();
    said.push_back({"cut", {Kind::missing_cable}, {end(l), end(l ^ 1U)}});
    taken_.push_back(l & ~1U);
    truth.cut(l);
  }
  void degrade() {
    const std::uint32_t l = any_cable();
    said.push_back({"degrade", {Kind::degraded_link}, {end(l), end(l ^ 1U)}});
    taken_.push_back(l & ~1U);
    for (const std::uint32_t one : {l, l ^ 1U}) truth.links[one].lanes = 1, truth.links[one].gb_s /= 4;
  }
  void exchange(std::uint32_t l, std::uint32_t m, Kind kind) {
    said.push_back({"exchange", {kind}, {end(l), end(l ^ 1U), end(m), end(m ^ 1U)}});
    taken_.push_back(l & ~1U), taken_.push_back(m & ~1U);
    const FabricLink a = truth.links[l], b = truth.links[l ^ 1U], c = truth.links[m], d = truth.links[m ^ 1U];
    truth.cut(l), truth.cut(m);
    truth.connect(a.from, a.port, d.from, d.port, a.gb_s, 4);
    truth.connect(c.from, c.port, b.from, b.port, c.gb_s, 4);
  }
  int rail(std::uint32_t link) const {
    const FabricLink& l = truth.links[link];
    return rails_.empty() || truth.nodes[l.from].is_switch ? -1 : rails_[l.to];
  }
  void swap() {
    for (;;) {
      const std::uint32_t l = any_cable(), m = any_cable();
      if ((l | 1U) == (m | 1U)) continue;
      // A network card cannot be cabled to a card, nor a plug to itself.
      const bool far_cards = !truth.nodes[truth.links[l].to].is_switch || !truth.nodes[truth.links[m].to].is_switch;
      if (far_cards) continue;
      const bool cards = !truth.nodes[truth.links[l].from].is_switch && !truth.nodes[truth.links[m].from].is_switch;
      return exchange(l, m, cards && rail(l) != rail(m) ? Kind::wrong_rail : mixed(l, m));
    }
  }
  // A card's cable exchanged with one between switches: on a rail's leaf of another number, or nowhere near a rail.
  Kind mixed(std::uint32_t l, std::uint32_t m) const {
    for (const auto& [card, other] : {std::pair(l, m), std::pair(m, l)}) {
      if (truth.nodes[truth.links[card].from].is_switch || rails_.empty()) continue;
      const int is = rails_[truth.links[other].to];
      if (is >= 0 && is != rail(card)) return Kind::wrong_rail;
    }
    return Kind::swapped_cables;
  }
  void wrong_rail() {
    for (;;) {
      const std::uint32_t l = any_cable(), m = any_cable();
      if (truth.nodes[truth.links[l].from].is_switch || truth.nodes[truth.links[m].from].is_switch) continue;
      if (rail(l) == rail(m) || rail(l) < 0) continue;
      return exchange(l, m, Kind::wrong_rail);
    }
  }
  void die() {
    const std::uint32_t n = any_switch();
    said.push_back({"dead switch", {Kind::dead_switch}, {truth.nodes[n].name}});
    for (const std::uint32_t l : std::vector<std::uint32_t>(truth.nodes[n].out)) {
      if (l != Fabric::kNoLink) taken_.push_back(l & ~1U), truth.cut(l);
    }
  }
  void power_off() {
    for (;;) {
      const auto n = static_cast<std::uint32_t>(prng.below(truth.nodes.size()));
      const auto host = host_of(truth.nodes[n].name);
      if (truth.nodes[n].is_switch || host == host_of(truth.nodes[root].name)) continue;
      said.push_back({"dead host", {Kind::dead_host}, {std::string(host)}});
      for (std::uint32_t i = 0; i < truth.nodes.size(); ++i) {
        if (truth.nodes[i].is_switch || host_of(truth.nodes[i].name) != host) continue;
        for (const std::uint32_t l : std::vector<std::uint32_t>(truth.nodes[i].out)) {
          if (l != Fabric::kNoLink) taken_.push_back(l & ~1U), truth.cut(l);
        }
      }
      return;
    }
  }
  void lose_packets() {
    lossy = any_switch();
    said.push_back({"lost packets", {Kind::incomplete_discovery}, {}});
  }

  void any(bool railed, bool many_cards) {
    switch (prng.below(7)) {
      case 0: return cut();
      case 1: return swap();
      case 2: return railed ? wrong_rail() : swap();
      case 3: return degrade();
      case 4: return die();
      case 5: return many_cards ? power_off() : cut();
      default: return lossy == UINT32_MAX ? lose_packets() : cut();
    }
  }

 private:
  const Fabric& design_;

 public:
  Fabric truth;
  std::uint32_t root = 0, lossy = UINT32_MAX;
  std::vector<Injected> said;

 private:
  EndNames names_;
  std::vector<int> rails_;
  std::vector<std::uint32_t> taken_;  // cables, by their even link

 public:
  Prng prng;
};

Fabric with_lanes(Fabric f) {
  for (FabricLink& l : f.links) l.lanes = 4;
  return f;
}

bool names_it(const FabricFault& f, const Injected& i) {
  return std::find(i.kinds.begin(), i.kinds.end(), f.kind) != i.kinds.end() &&
         std::all_of(i.ends.begin(), i.ends.end(),
                     [&](const std::string& e) { return std::find(f.ends.begin(), f.ends.end(), e) != f.ends.end(); });
}

struct Score {
  int injected = 0, named = 0, said = 0, right = 0, traceless = 0;
  std::string first_wrong;
  double recall() const { return static_cast<double>(named) / injected; }
  double precision() const { return static_cast<double>(right) / said; }
};

std::string tell(const Harm& harm, const FabricComparison& c) {
  std::string out = "injected:";
  for (const Injected& i : harm.said) {
    out += "\n  " + i.what + ":";
    for (const auto& e : i.ends) out += " " + e;
  }
  if (harm.lossy != UINT32_MAX) out += "\n  lossy: " + harm.truth.nodes[harm.lossy].name;
  out += "\nsaid:";
  for (const FabricFault& f : c.faults) {
    out += "\n  " + std::string(name_of(f.kind)) + ":";
    for (const auto& e : f.ends) out += " " + e;
    out += ": " + f.detail;
  }
  return out;
}

void score(const Harm& harm, const FabricComparison& c, Score& s) {
  bool good = true;
  for (const Injected& i : harm.said) {
    ++s.injected;
    const bool named = std::any_of(c.faults.begin(), c.faults.end(), [&](const FabricFault& f) { return names_it(f, i); });
    s.named += named ? 1 : 0;
    good &= named;
  }
  for (const FabricFault& f : c.faults) {
    ++s.said;
    const bool right = std::any_of(harm.said.begin(), harm.said.end(), [&](const Injected& i) { return names_it(f, i); });
    s.right += right ? 1 : 0;
    good &= right;
  }
  if (!good && s.first_wrong.empty()) s.first_wrong = tell(harm, c);
}

// Loss that left no mark cannot be told from cables that were cut, unless the states of ports are known; and loss of which
// nothing but the abilities of a switch was a victim changed nothing that is compared: there are switches without them.
bool traceless(const Fabric& design, const FabricSurvey& found, bool with_ports) {
  const bool marks = std::any_of(found.oddities.begin(), found.oddities.end(),
                                 [](const SurveyOddity& o) { return o.mark != SurveyMark::base_port; });
  const bool whole = found.fabric.links.size() == design.links.size();
  return !marks && (whole || (!with_ports && found.oddities.empty()));
}

// `faults` at once, so many times, over all fabrics. Loss without a trace is counted and not scored.
Score campaign(const std::vector<FabricAsk>& asks, int faults, int times, std::uint64_t seed, bool with_ports = false) {
  Score s;
  for (const FabricAsk& ask : asks) {
    const Fabric design = with_lanes(build_fabric(ask).value());
    for (int t = 0; t < times; ++t) {
      Harm harm(design, seed + static_cast<std::uint64_t>(t));
      for (int i = 0; i < faults; ++i) harm.any(ask.kind == FabricKind::rail, ask.nics > 1);
      Discovery discovery(harm.truth, harm.root, harm.lossy, 0.3 + 0.6 * harm.prng.unit(), harm.prng);
      const auto ports = with_ports ? discovery.ports() : std::vector<PortState>();
      const bool lossy = harm.lossy != UINT32_MAX, mute = lossy && !discovery.knows(harm.lossy);
      // Who never answers at all looks dead to those who only see that.
      for (Injected& i : harm.said) {
        if (mute && !with_ports && i.what == "lost packets") i = {"mute", {Kind::dead_switch}, {design.nodes[harm.lossy].name}};
      }
      const FabricSurvey found = discovery.survey();
      if (lossy && !mute && traceless(design, found, with_ports)) {
        ++s.traceless;
        continue;
      }
      score(harm, compare_fabrics(design, found, ports), s);
    }
  }
  return s;
}

std::vector<FabricAsk> fabrics() {
  return {{.nodes = 64, .nics = 1, .radix = 16, .levels = 2},
          {.kind = FabricKind::rail, .nodes = 24, .nics = 8, .radix = 32},
          {.nodes = 128, .nics = 1, .radix = 8, .levels = 3},
          {.nodes = 20, .nics = 4, .radix = 20, .oversubscription = 1.5},
          {.kind = FabricKind::dragonfly, .nodes = 72, .nics = 1, .radix = 15}};
}

constexpr int kTimes = 60;
constexpr std::uint64_t kSeed = 20'000'000;

TEST(FabricCompare, OneFaultIsAlwaysNamed) {
  const Score s = campaign(fabrics(), 1, kTimes, kSeed);
  EXPECT_EQ(s.named, s.injected) << s.first_wrong;
  EXPECT_GE(s.precision(), 0.99) << s.first_wrong;
  EXPECT_LE(s.traceless, kTimes / 10);
}

TEST(FabricCompare, StatesOfPortsTellTheSilentFromTheDead) {
  const Score s = campaign(fabrics(), 1, kTimes, kSeed + 1'000'000, true);
  EXPECT_EQ(s.named, s.injected) << s.first_wrong;
  EXPECT_EQ(s.right, s.said) << s.first_wrong;
}

TEST(FabricCompare, OfTwoFaultsAtOnceNearlyAllAreNamed) {
  const Score s = campaign(fabrics(), 2, kTimes, kSeed + 2'000'000);
  EXPECT_GE(s.recall(), 0.98) << s.first_wrong;
  EXPECT_GE(s.precision(), 0.99) << s.first_wrong;
}

// 8 leaves of 8 cards each, and 4 spines with two cables to each leaf.
Fabric small() { return with_lanes(build_fabric({.nodes = 64, .nics = 1, .radix = 16, .levels = 2}).value()); }
Fabric railed() { return with_lanes(build_fabric({.kind = FabricKind::rail, .nodes = 24, .nics = 8, .radix = 32}).value()); }

std::uint32_t node(const Fabric& f, std::string_view name) {
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    if (f.nodes[i].name == name) return i;
  }
  ADD_FAILURE() << name;
  return 0;
}

FabricComparison compared(const Fabric& design, Fabric found) {
  FabricSurvey s;
  s.fabric = std::move(found);
  return compare_fabrics(design, s);
}

TEST(FabricCompare, AHealthyFabricHasNoFault) {
  for (const FabricAsk& ask : fabrics()) {
    const Fabric f = build_fabric(ask).value();
    const FabricComparison c = compared(f, f);
    EXPECT_TRUE(c.complete);
    EXPECT_TRUE(c.faults.empty());
    EXPECT_EQ(c.cables_as_wanted, f.links.size() / 2);
  }
}

TEST(FabricCompare, AMovedPlugIsOneFaultWithThreeEnds) {
  const Fabric design = with_lanes(build_fabric({.nodes = 60, .nics = 1, .radix = 16, .levels = 2}).value());
  Fabric found = design;
  const std::uint32_t card = node(found, "node00002 mlx5_0"), leaf = node(found, "leaf-0007");
  found.cut(found.out(card, 1));
  found.connect(card, 1, leaf, 8, 50, 4);
  const FabricComparison c = compared(design, found);
  ASSERT_EQ(c.faults.size(), 1U);
  EXPECT_EQ(c.faults[0].kind, Kind::extra_cable);
  EXPECT_EQ(c.faults[0].ends, (std::vector<std::string>{"node00002 mlx5_0[1]", "leaf-0007[8]", "leaf-0000[3]"}));
  EXPECT_EQ(c.faults[0].fix, "move the plug at leaf-0007[8] to leaf-0000[3]");
}

TEST(FabricCompare, ParallelCablesThatChangedPlacesAreSaidToBeHarmless) {
  const Fabric design = small();
  Fabric found = design;
  const std::uint32_t leaf = node(found, "leaf-0000"), spine = node(found, "spine-000");
  found.cut(found.out(leaf, 9)), found.cut(found.out(leaf, 10));
  found.connect(leaf, 9, spine, 2, 50, 4), found.connect(leaf, 10, spine, 1, 50, 4);
  const FabricComparison c = compared(design, found);
  ASSERT_EQ(c.faults.size(), 1U);
  EXPECT_EQ(c.faults[0].kind, Kind::swapped_cables);
  EXPECT_EQ(c.faults[0].ends.size(), 4U);
  EXPECT_NE(c.faults[0].detail.find("traffic does not suffer"), std::string::npos) << c.faults[0].detail;
}

TEST(FabricCompare, AReplacedCardIsKnownByItsPlace) {
  const Fabric design = railed();
  Fabric found = design;
  const std::uint32_t card = node(found, "node00003 mlx5_2");
  found.nodes[card].guid = 77;
  found.nodes[card].name = "localhost mlx5_2";
  const FabricComparison c = compared(design, found);
  EXPECT_TRUE(c.faults.empty());
  EXPECT_EQ(c.known_by_place, 1U);
}

TEST(FabricCompare, HardwareWithOtherGuidsIsKnownByItsName) {
  const Fabric design = railed();
  Fabric found = design;
  for (FabricNode& n : found.nodes) n.guid += 0x1234567800;
  const FabricComparison c = compared(design, found);
  EXPECT_TRUE(c.faults.empty());
  EXPECT_EQ(c.known_by_name, design.nodes.size());
}

TEST(FabricCompare, AStrangeSwitchIsOneFault) {
  const Fabric design = with_lanes(build_fabric({.nodes = 50, .nics = 1, .radix = 16, .levels = 2}).value());
  Fabric found = design;
  const std::uint32_t strange = found.add({"borrowed", 5, true, {}});
  found.connect(strange, 1, node(found, "leaf-0006"), 7, 50, 4);
  found.connect(strange, 2, node(found, "leaf-0006"), 8, 50, 4);
  const FabricComparison c = compared(design, found);
  ASSERT_EQ(c.faults.size(), 1U);
  EXPECT_EQ(c.faults[0].kind, Kind::extra_cable);
  EXPECT_EQ(c.faults[0].ends.size(), 4U);
}

TEST(FabricCompare, ASpeedThatAllCablesLackIsOneFault) {
  const Fabric design = small();
  Fabric found = design;
  for (FabricLink& l : found.links) l.gb_s /= 2;
  const FabricComparison c = compared(design, found);
  ASSERT_EQ(c.faults.size(), 1U);
  EXPECT_EQ(c.faults[0].kind, Kind::degraded_link);
  EXPECT_EQ(c.faults[0].detail, "128 of 128 cables run at 4xHDR, the design has 4xNDR: the first is named");
  const std::uint32_t l = found.out(node(found, "leaf-0003"), 2);
  for (const std::uint32_t one : {l, l ^ 1U}) found.links[one].lanes = 1, found.links[one].gb_s /= 4;
  const FabricComparison worse = compared(design, found);
  ASSERT_EQ(worse.faults.size(), 2U) << "one of them is slower still";
  const auto names_leaf = [](const FabricFault& f) { return std::count(f.ends.begin(), f.ends.end(), "leaf-0003[2]") == 1; };
  EXPECT_EQ(std::count_if(worse.faults.begin(), worse.faults.end(), names_leaf), 1);
}

TEST(FabricCompare, ARingOfManyCablesSaysHowManyItDoesNotSpellOut) {
  const Fabric design = small();
  Fabric found = design;
  std::vector<FabricLink> far;  // at which ports cards are, from the first leaf on
  std::vector<std::uint32_t> cards;
  for (std::uint32_t n = 0; n < design.nodes.size(); ++n) {
    if (design.nodes[n].is_switch) continue;
    cards.push_back(n);
    far.push_back(design.links[design.out(n, 1) ^ 1U]);
    found.cut(found.out(n, 1));
  }
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const FabricLink& to = far[(i + 1) % cards.size()];
    found.connect(cards[i], 1, to.from, to.port, to.gb_s, to.lanes);
  }
  const FabricComparison c = compared(design, found);
  ASSERT_EQ(c.faults.size(), 1U);
  EXPECT_EQ(c.faults[0].ends.size(), 2 * cards.size());
  EXPECT_NE(c.faults[0].fix.find(" and 32 more alike"), std::string::npos) << c.faults[0].fix;
}

TEST(FabricCompare, ManyDeadSwitchesAreAnIncompleteDiscovery) {
  const Fabric design = small();
  Prng prng(1, "x");
  FabricSurvey s;
  s.fabric = Discovery(design, node(design, "node00000 mlx5_0"), UINT32_MAX, 0, prng).survey().fabric;
  EXPECT_TRUE(compare_fabrics(design, s).faults.empty());
  // All that one leaf sees.
  Fabric cut = design;
  for (std::uint32_t n = 0; n < cut.nodes.size(); ++n) {
    if (!cut.nodes[n].is_switch || cut.nodes[n].name == "leaf-0000" || cut.nodes[n].name == "spine-000") continue;
    for (const std::uint32_t l : std::vector<std::uint32_t>(cut.nodes[n].out)) {
      if (l != Fabric::kNoLink) cut.cut(l);
    }
  }
  const FabricSurvey found = Discovery(cut, node(design, "node00000 mlx5_0"), UINT32_MAX, 0, prng).survey();
  const FabricComparison c = compare_fabrics(design, found);
  EXPECT_FALSE(c.complete);
  ASSERT_EQ(c.faults.size(), 1U);
  EXPECT_EQ(c.faults[0].kind, Kind::incomplete_discovery);
}

// Hardware has guids of its own; `named` makes a card's description of its host and its number.
template <typename Named>
Fabric as_built(Fabric f, const Named& named) {
  for (FabricNode& n : f.nodes) {
    n.guid += 0x946dae0000000000;
    if (!n.is_switch) n.name = named(std::string(host_of(n.name)), card_of(n.name));
  }
  return f;
}

void cross(Fabric& f, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t l = f.out(a, 1), m = f.out(b, 1);
  const FabricLink to = f.links[l ^ 1U], other = f.links[m ^ 1U];
  f.cut(l), f.cut(m);
  f.connect(a, 1, other.from, other.port, 50, 4), f.connect(b, 1, to.from, to.port, 50, 4);
}

// Names as sites give them: numbers with gaps, from one, of the bus, in another order, hosts that are called otherwise.
std::string sparse(const std::string& host, int card) {
  return host + " mlx5_" + std::to_string(std::array{0, 3, 4, 5, 6, 9, 10, 11}[static_cast<std::size_t>(card)]);
}
std::string from_one(const std::string& host, int card) { return host + " HCA-" + std::to_string(card + 1); }
std::string by_bus(const std::string& host, int card) { return host + " ibp" + std::to_string(26 + 17 * card) + "s0"; }
std::string turned(const std::string& host, int card) { return host + " mlx5_" + std::to_string(2 + (card + 4) % 8); }
std::string foreign(const std::string& host, int card) { return "dgx-" + host.substr(6) + " mlx5_" + std::to_string(card); }

TEST(FabricCompare, NamesOfCardsAndHostsHideNoCrossingAndMakeNone) {
  const Fabric design = railed();
  for (const auto named : {sparse, from_one, by_bus, turned, foreign}) {
    EXPECT_TRUE(compared(design, as_built(design, named)).faults.empty()) << named("node00003", 1);
    Fabric crossed = design;
    cross(crossed, node(crossed, "node00003 mlx5_1"), node(crossed, "node00003 mlx5_6"));
    cross(crossed, node(crossed, "node00005 mlx5_2"), node(crossed, "node00017 mlx5_2"));
    const FabricComparison c = compared(design, as_built(crossed, named));
    ASSERT_EQ(c.faults.size(), 2U) << named("node00003", 1);
    EXPECT_EQ(c.faults[0].kind, Kind::swapped_cables);
    EXPECT_EQ(c.faults[0].ends.size(), 4U);
    EXPECT_EQ(c.faults[1].kind, Kind::wrong_rail);
    EXPECT_EQ(c.faults[1].ends.size(), 4U);
    EXPECT_FALSE(c.notes.empty());
  }
}

std::string mixed(const std::string& host, int card) {
  return host + " mlx5_" + std::to_string(std::array{3, 0, 2, 1, 7, 5, 4, 6}[static_cast<std::size_t>(card)]);
}
std::string mixed_and_sparse(const std::string& host, int card) {
  return host + " mlx5_" + std::to_string(std::array{9, 0, 12, 3, 5, 10, 4, 11}[static_cast<std::size_t>(card)]);
}

TEST(FabricCompare, CardsNamedInAnotherOrderAtAllHostsAreANoteAndHideNoSwap) {
  const Fabric design = railed();
  Fabric crossed = design;
  cross(crossed, node(crossed, "node00003 mlx5_1"), node(crossed, "node00003 mlx5_6"));
  for (const auto named : {mixed, mixed_and_sparse}) {
    for (const bool generic : {false, true}) {
      const auto built = [&](const Fabric& f) {
        Fabric out = as_built(f, named);
        for (FabricNode& n : out.nodes) {
          if (generic && n.is_switch) n.name = "Quantum Mellanox Technologies";
        }
        return out;
      };
      const FabricComparison sound = compared(design, built(design));
      EXPECT_TRUE(sound.faults.empty()) << sound.faults[0].detail;
      EXPECT_FALSE(sound.notes.empty());
      const FabricComparison c = compared(design, built(crossed));
      ASSERT_EQ(c.faults.size(), 1U) << named("node00003", 1) << (generic ? ", generic" : "");
      EXPECT_EQ(c.faults[0].kind, Kind::wrong_rail);
      EXPECT_EQ(c.faults[0].ends, (std::vector<std::string>{"node00003 mlx5_1[1]", "leaf-u00-r1[4]", "node00003 mlx5_6[1]",
                                                             "leaf-u00-r6[4]"}));
    }
  }
}

TEST(FabricCompare, PortsForAggregationAreLeftOutUnlessTheDesignHasThem) {
  const Fabric design = small();
  Fabric found = design;
  for (std::uint32_t n = 0; n < design.nodes.size(); ++n) {
    if (!design.nodes[n].is_switch) continue;
    const std::uint32_t own = found.add({"Mellanox Technologies Aggregation Node", 0x5000 + n, false, {}});
    found.connect(n, 17, own, 1, 50, 4);
  }
  const FabricComparison c = compared(design, found);
  EXPECT_TRUE(c.faults.empty());
  ASSERT_EQ(c.notes.size(), 1U);
  EXPECT_NE(c.notes[0].find("12 ports"), std::string::npos) << c.notes[0];
  EXPECT_TRUE(compared(found, found).faults.empty());
  EXPECT_FALSE(compared(found, design).faults.empty());
}

TEST(FabricCompare, EndsAreThoseOfCablesOfTheDesignOrOfFoundOnes) {
  const Fabric design = small();
  Fabric found = design;
  const std::uint32_t leaf = node(found, "leaf-0002");
  found.cut(found.out(leaf, 9)), found.cut(found.out(leaf, 11));
  found.connect(leaf, 9, leaf, 11, 50, 4);
  const FabricComparison c = compared(design, found);
  ASSERT_EQ(c.faults.size(), 2U);
  EXPECT_EQ(c.faults[0].kind, Kind::missing_cable);
  const EndNames names(design);
  const FabricLink& l = design.links[design.out(leaf, 9)];
  const std::string far = names.end(l.to, design.links[design.out(leaf, 9) ^ 1U].port);
  EXPECT_EQ(c.faults[0].ends, (std::vector<std::string>{far, "leaf-0002[9]"}));
}

TEST(FabricCompare, ASlowCableInAnothersPlaceIsBoth) {
  const Fabric design = railed();
  Fabric found = design;
  const std::uint32_t a = node(found, "node00003 mlx5_1");
  cross(found, a, node(found, "node00005 mlx5_1"));
  const std::uint32_t l = found.out(a, 1);
  for (const std::uint32_t one : {l, l ^ 1U}) found.links[one].lanes = 1, found.links[one].gb_s /= 4;
  const FabricComparison c = compared(design, found);
  ASSERT_EQ(c.faults.size(), 2U);
  EXPECT_EQ(c.faults[0].kind, Kind::swapped_cables);
  EXPECT_EQ(c.faults[1].kind, Kind::degraded_link);
}

TEST(FabricCompare, ADeviceThatHidesAnotherOfItsGuidIsNoSureSwap) {
  const Fabric design = small();
  Fabric found = design;
  const std::uint32_t a = node(found, "node00008 mlx5_0"), b = node(found, "node00009 mlx5_0");
  cross(found, a, b);
  found.cut(found.out(b, 1));
  Prng prng(1, "x");
  Discovery discovery(found, node(design, "node00000 mlx5_0"), UINT32_MAX, 0, prng);
  auto ports = discovery.ports();
  const FabricSurvey seen = discovery.survey();
  const FabricComparison c = compare_fabrics(design, seen);
  ASSERT_EQ(c.faults.size(), 1U);
  EXPECT_LE(c.faults[0].confidence, 0.5);
  EXPECT_NE(c.faults[0].detail.find("share a guid"), std::string::npos) << c.faults[0].detail;
  // The port that it should be at is up, with nobody behind it.
  for (PortState& p : ports) {
    if (p.here.guid == design.nodes[node(design, "leaf-0001")].guid && p.here.port == 1) p.physical = "LinkUp";
  }
  const FabricComparison up = compare_fabrics(design, seen, ports);
  ASSERT_EQ(up.faults.size(), 1U);
  EXPECT_EQ(up.faults[0].kind, Kind::duplicate_guid);
}

TEST(FabricCompare, NamesThatMovedAreNotesAndSwitchesInEachOthersPlaceAreOneFault) {
  const Fabric design = small();
  Fabric found = design;
  std::swap(found.nodes[node(found, "leaf-0002")].name, found.nodes[node(found, "leaf-0004")].name);
  FabricComparison c = compared(design, found);
  EXPECT_TRUE(c.faults.empty());
  ASSERT_EQ(c.notes.size(), 1U);
  EXPECT_NE(c.notes[0].find("leaf-0002 is called leaf-0004"), std::string::npos) << c.notes[0];
  for (FabricNode& n : found.nodes) n.guid += 0x946dae0000000000;
  c = compared(design, found);
  ASSERT_EQ(c.faults.size(), 1U);
  EXPECT_EQ(c.faults[0].kind, Kind::swapped_cables);
  EXPECT_EQ(c.faults[0].ends[0], "leaf-0002");
  EXPECT_EQ(c.faults[0].ends[1], "leaf-0004");
  found = design;
  found.nodes[node(found, "node00009 mlx5_0")].name = "node00008 mlx5_0";
  c = compared(design, found);
  EXPECT_TRUE(c.faults.empty());
  EXPECT_EQ(c.notes.size(), 2U);
}

TEST(FabricCompare, AStrangersDesignIsSaidToBeOne) {
  const Fabric design = small();
  Fabric found = design;
  for (FabricNode& n : found.nodes) n.guid += 0x946dae0000000000, n.name = "Mellanox Technologies";
  const FabricComparison c = compared(design, found);
  EXPECT_FALSE(c.complete);
  ASSERT_EQ(c.faults.size(), 1U);
  EXPECT_EQ(c.faults[0].kind, Kind::incomplete_discovery);
}

}  // namespace
}  // namespace muster::design
