#include "design/fabric_infer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "design/fabric_compare.h"
#include "design/fabrics.h"

namespace muster::design {
namespace {

using Kind = FabricFaultKind;

Fabric with_lanes(const FabricAsk& ask) {
  Fabric f = build_fabric(ask).value();
  for (FabricLink& l : f.links) l.lanes = 4;
  return f;
}
Fabric tree() { return with_lanes({.nodes = 64, .nics = 1, .radix = 16, .levels = 2}); }
Fabric deep() { return with_lanes({.nodes = 128, .nics = 1, .radix = 8, .levels = 3}); }
Fabric railed() { return with_lanes({.kind = FabricKind::rail, .nodes = 24, .nics = 8, .radix = 32}); }

std::uint32_t node(const Fabric& f, std::string_view name) {
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    if (f.nodes[i].name == name) return i;
  }
  ADD_FAILURE() << name;
  return 0;
}

std::vector<FabricFault> deviations(const Fabric& found) {
  const InferredFabric inferred = infer_fabric(found);
  FabricSurvey s;
  s.fabric = found;
  auto out = compare_fabrics(inferred.design, s).faults;
  out.insert(out.end(), inferred.faults.begin(), inferred.faults.end());
  return out;
}

void exchange(Fabric& f, std::uint32_t l, std::uint32_t m) {
  const FabricLink a = f.links[l], b = f.links[l ^ 1U], c = f.links[m], d = f.links[m ^ 1U];
  f.cut(l), f.cut(m);
  f.connect(a.from, a.port, d.from, d.port, a.gb_s, a.lanes);
  f.connect(c.from, c.port, b.from, b.port, c.gb_s, c.lanes);
}

TEST(FabricInfer, ARegularFabricDeviatesNowhere) {
  for (const Fabric& f : {tree(), deep(), railed(), with_lanes({.nodes = 20, .nics = 4, .radix = 20, .oversubscription = 1.5}),
                          with_lanes({.nodes = 60, .nics = 1, .radix = 16, .levels = 2})}) {
    const auto all = deviations(f);
    EXPECT_TRUE(all.empty()) << all.size() << " of them, the first: " << all[0].detail;
  }
}

TEST(FabricInfer, ACutCableIsFoundWithBothEnds) {
  for (Fabric f : {tree(), deep(), railed()}) {
    std::uint32_t cable = Fabric::kNoLink;
    for (std::uint32_t l = 0; l < f.links.size(); ++l) {
      if (f.nodes[f.links[l].from].is_switch && f.nodes[f.links[l].to].is_switch) cable = l;
    }
    ASSERT_NE(cable, Fabric::kNoLink);
    const EndNames names(f);
    const std::string a = names.end(f.links[cable].from, f.links[cable].port);
    const std::string b = names.end(f.links[cable].to, f.links[cable ^ 1U].port);
    f.cut(cable);
    const auto all = deviations(f);
    ASSERT_EQ(all.size(), 1U) << a << " " << b;
    EXPECT_EQ(all[0].kind, Kind::missing_cable);
    EXPECT_NE(std::find(all[0].ends.begin(), all[0].ends.end(), a), all[0].ends.end()) << all[0].ends[0] << all[0].ends[1];
    EXPECT_NE(std::find(all[0].ends.begin(), all[0].ends.end(), b), all[0].ends.end()) << all[0].ends[0] << all[0].ends[1];
  }
}

TEST(FabricInfer, CablesBetweenSwitchesThatChangedPlacesAreFound) {
  Fabric f = tree();
  exchange(f, f.out(node(f, "leaf-0002"), 9), f.out(node(f, "leaf-0005"), 13));
  const auto all = deviations(f);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::swapped_cables);
  EXPECT_EQ(all[0].ends.size(), 4U);
}

TEST(FabricInfer, CardsOnAnothersRailAreFound) {
  Fabric f = railed();
  exchange(f, f.out(node(f, "node00003 mlx5_1"), 1), f.out(node(f, "node00003 mlx5_6"), 1));
  const auto all = deviations(f);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::wrong_rail);
  EXPECT_EQ(all[0].ends.size(), 4U);
}

TEST(FabricInfer, ACardThatItsMatesMissIsFound) {
  Fabric f = railed();
  const std::uint32_t card = node(f, "node00003 mlx5_1");
  f.cut(f.out(card, 1));
  // Nobody sees it any more.
  Fabric seen;
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    if (i != card) seen.add({f.nodes[i].name, f.nodes[i].guid, f.nodes[i].is_switch, {}});
  }
  const auto moved = [&](std::uint32_t n) { return n > card ? n - 1 : n; };
  for (std::uint32_t l = 0; l < f.links.size(); l += 2) {
    if (f.out(f.links[l].from, f.links[l].port) != l) continue;
    seen.connect(moved(f.links[l].from), f.links[l].port, moved(f.links[l].to), f.links[l + 1].port, f.links[l].gb_s, 4);
  }
  const auto all = deviations(seen);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::missing_cable);
  EXPECT_EQ(all[0].ends, (std::vector<std::string>{"leaf-u00-r1[4]", "node00003 mlx5_1[1]"}));
}

TEST(FabricInfer, ASlowLinkAmongFastOnesIsFound) {
  Fabric f = tree();
  const std::uint32_t l = f.out(node(f, "leaf-0002"), 9);
  for (const std::uint32_t one : {l, l ^ 1U}) f.links[one].lanes = 1, f.links[one].gb_s /= 4;
  const auto all = deviations(f);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::degraded_link);
}

TEST(FabricInfer, ARowWithAHoleIsASwitchThatIsOff) {
  Fabric f = tree();
  for (const std::uint32_t l : std::vector<std::uint32_t>(f.nodes[node(f, "spine-001")].out)) {
    if (l != Fabric::kNoLink) f.cut(l);
  }
  const InferredFabric inferred = infer_fabric(f);
  ASSERT_EQ(inferred.faults.size(), 1U);
  EXPECT_EQ(inferred.faults[0].kind, Kind::dead_switch);
  EXPECT_LE(inferred.faults[0].confidence, 0.5);
}

void unplug(Fabric& f, std::uint32_t n) {
  for (const std::uint32_t l : std::vector<std::uint32_t>(f.nodes[n].out)) {
    if (l != Fabric::kNoLink) f.cut(l);
  }
}

TEST(FabricInfer, ANodeWithAllItsRailsTurnedIsFound) {
  Fabric f = railed();
  for (int card = 0; card < 7; ++card) {
    const auto name = [](int c) { return "node00003 mlx5_" + std::to_string(c); };
    exchange(f, f.out(node(f, name(card)), 1), f.out(node(f, name(card + 1)), 1));
  }
  const auto all = deviations(f);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::wrong_rail);
  EXPECT_EQ(all[0].ends.size(), 16U);
}

TEST(FabricInfer, UplinksOfTwoLeavesExchangedAtOneSpineAreFound) {
  Fabric f = with_lanes({.nodes = 32, .nics = 1, .radix = 8, .levels = 2});
  exchange(f, f.out(node(f, "leaf-0002"), 5), f.out(node(f, "leaf-0004"), 5));
  const auto all = deviations(f);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::swapped_cables);
}

TEST(FabricInfer, ALeafThatLostMostOfItsUplinksIsFound) {
  Fabric f = with_lanes({.nodes = 32, .nics = 1, .radix = 8, .levels = 2});
  for (const std::uint16_t port : {5, 6, 7}) f.cut(f.out(node(f, "leaf-0002"), port));
  const auto all = deviations(f);
  ASSERT_EQ(all.size(), 3U);
  for (const FabricFault& fault : all) EXPECT_EQ(fault.kind, Kind::missing_cable);
}

TEST(FabricInfer, ALeafThatIsOffLeavesARowOfEmptyPorts) {
  Fabric f = with_lanes({.nodes = 32, .nics = 1, .radix = 8, .levels = 2});
  unplug(f, node(f, "leaf-0003"));
  const InferredFabric inferred = infer_fabric(f);
  ASSERT_EQ(inferred.faults.size(), 1U);
  EXPECT_EQ(inferred.faults[0].kind, Kind::dead_switch);
  EXPECT_EQ(inferred.faults[0].ends[0], "spine-000[4]");
}

TEST(FabricInfer, AHostThatNumbersAndPortsLeaveRoomForIsFound) {
  Fabric f = railed();
  for (int card = 0; card < 8; ++card) unplug(f, node(f, "node00003 mlx5_" + std::to_string(card)));
  const InferredFabric inferred = infer_fabric(f);
  ASSERT_EQ(inferred.faults.size(), 1U);
  EXPECT_EQ(inferred.faults[0].kind, Kind::dead_host);
  EXPECT_EQ(inferred.faults[0].ends[0], "node00003");
  EXPECT_EQ(inferred.faults[0].ends.size(), 9U);
}

TEST(FabricInfer, CardsThatAllHaveOneLaneAreOneFault) {
  Fabric f = tree();
  for (FabricLink& l : f.links) {
    if (!f.nodes[l.from].is_switch || !f.nodes[l.to].is_switch) l.lanes = 1, l.gb_s /= 4;
  }
  const InferredFabric inferred = infer_fabric(f);
  ASSERT_EQ(inferred.faults.size(), 1U);
  EXPECT_EQ(inferred.faults[0].kind, Kind::degraded_link);
}

TEST(FabricInfer, UplinksAtEverySecondPortAreNoRowOfHoles) {
  Fabric f;
  for (int leaf = 0; leaf < 4; ++leaf) f.add({"leaf" + std::to_string(leaf), 100U + static_cast<unsigned>(leaf), true, {}});
  for (int spine = 0; spine < 4; ++spine) f.add({"spine" + std::to_string(spine), 200U + static_cast<unsigned>(spine), true, {}});
  for (std::uint16_t leaf = 0; leaf < 4; ++leaf) {
    const std::uint32_t card = f.add({"host" + std::to_string(leaf) + " mlx5_0", 300U + leaf, false, {}});
    f.connect(leaf, 1, card, 1, 50, 4);
    for (std::uint16_t spine = 0; spine < 4; ++spine) {
      f.connect(leaf, static_cast<std::uint16_t>(9 + 2 * spine), 4U + spine, static_cast<std::uint16_t>(1 + 2 * leaf), 50, 4);
    }
  }
  EXPECT_TRUE(deviations(f).empty());
}

}  // namespace
}  // namespace muster::design
