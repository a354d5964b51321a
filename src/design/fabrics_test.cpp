#include "design/fabrics.h"

#include <gtest/gtest.h>

#include <set>

#include "predict/traffic.h"

namespace muster::design {
namespace {

std::size_t switches(const Fabric& f) {
  std::size_t n = 0;
  for (const FabricNode& x : f.nodes) n += x.is_switch ? 1 : 0;
  return n;
}

double shifts(const Fabric& f, predict::Routing routing) {
  predict::Router router(f, routing);
  return predict::shift_traffic(f, router, 7).value().mean;
}

// 128 nodes with 8 cards and switches of 64 ports, and a full tree of switches of 16 ports.
TEST(Fabrics, KnownOnesHaveAsManySwitchesAndCables) {
  const Fabric rail = build_fabric({.kind = FabricKind::rail, .nodes = 128, .nics = 8, .radix = 64}).value();
  EXPECT_EQ(switches(rail), 48U);
  EXPECT_EQ(rail.links.size() / 2, 2048U);
  const Fabric tree = build_fabric({.nodes = 1024, .nics = 1, .radix = 16, .levels = 3}).value();
  EXPECT_EQ(switches(tree), 320U);
  EXPECT_EQ(tree.links.size() / 2, 3072U);
}

// 31 uplinks go evenly over 31 spines alone, which would use 9 of their 62 ports; 30 go over five.
TEST(Fabrics, ALeafGivesUpAPortWhereThatSavesSpines) {
  for (const std::uint32_t radix : {62U, 63U}) {
    const FabricAsk a{.nodes = 32, .nics = 8, .radix = radix};
    const Fabric f = build_fabric(a).value();
    EXPECT_EQ(switches(f), 14U) << radix;
    EXPECT_EQ(tree_switches(a), 14U);
    EXPECT_EQ(leaf_ports_down(a), 30U);
    EXPECT_NEAR(shifts(f, predict::Routing::adaptive), 1, 1e-9);
    for (const FabricNode& n : f.nodes) EXPECT_LE(n.out.size(), n.is_switch ? radix + 1 : 2U);
  }
  EXPECT_EQ(switches(build_fabric({.nodes = 32, .nics = 8, .radix = 64}).value()), 12U) << "8 and 4";
  EXPECT_EQ(leaf_ports_down({.nodes = 32, .nics = 8, .radix = 64}), 32U);
  // Leaves that are full have no port to give up: it takes what it takes.
  EXPECT_EQ(tree_switches({.nodes = 279, .nics = 1, .radix = 62}), 40U);
  // Three pods, and cores above 31 planes: 30 leaves of a pod instead of 31.
  const FabricAsk three{.nodes = 250, .nics = 8, .radix = 62, .levels = 3};
  const Fabric f = build_fabric(three).value();
  EXPECT_EQ(switches(f), tree_switches(three));
  EXPECT_LT(switches(f), 500U);
  EXPECT_NEAR(shifts(f, predict::Routing::adaptive), 1, 1e-9);
}

TEST(Fabrics, CutCablesOtherJobsAndPausesCostWhatIsLeftToShare) {
  Fabric tree = build_fabric({.nodes = 64, .nics = 1, .radix = 16, .levels = 2}).value();
  const auto mean = [&](const predict::Conditions& c, predict::Routing routing = predict::Routing::hashed) {
    predict::Router router(tree, routing);
    return predict::shift_traffic(tree, router, 3, c).value().mean;
  };
  const double alone = mean({});
  EXPECT_LT(alone, 0.9) << "hashed ways collide";
  EXPECT_NEAR(mean({.beside = 0.5}), alone, 0.1) << "whoever sends: the network is as full";
  EXPECT_LT(mean({.paused = true}), alone) << "and so do bystanders";
  EXPECT_NEAR(mean({}, predict::Routing::adaptive), 1, 1e-9);
  ASSERT_TRUE(predict::cut_cables(tree, 8, 1));
  const double cut = mean({}, predict::Routing::adaptive);
  EXPECT_LT(cut, 1);
  EXPECT_GT(cut, 0.5) << "56 of 64 cables are left";
  EXPECT_EQ(predict::cut_cables(tree, 1000, 1).error().what, "1000 cables cannot be cut: 64 join switches");
  predict::Router router(tree, predict::Routing::hashed);
  EXPECT_FALSE(predict::shift_traffic(tree, router, 1, {.beside = 0.99})) << "nobody is left to measure";
}

TEST(Fabrics, NoPortIsUsedTwiceAndNoneIsTooMany) {
  for (const FabricKind kind : {FabricKind::fat_tree, FabricKind::rail, FabricKind::dragonfly}) {
    for (const std::uint32_t nodes : {1U, 5U, 33U, 64U, 200U}) {
      for (const double over : {1.0, 2.0, 3.0}) {
        const auto f = build_fabric({.kind = kind, .nodes = nodes, .nics = 4, .radix = 24, .oversubscription = over});
        if (!f) {
          EXPECT_FALSE(f.error().next.empty());
          continue;
        }
        std::set<std::uint64_t> guids;
        for (const FabricNode& n : f->nodes) {
          guids.insert(n.guid);
          EXPECT_LE(n.out.size(), n.is_switch ? 25U : 2U);
        }
        EXPECT_EQ(guids.size(), f->nodes.size());
        EXPECT_EQ(f->endpoints().size(), nodes * 4U);
        for (std::size_t l = 0; l < f->links.size(); ++l) {
          EXPECT_EQ(f->out(f->links[l].from, f->links[l].port), l);
          EXPECT_EQ(f->links[l].from, f->links[l ^ 1U].to);
        }
        predict::Router router(*f, predict::Routing::hashed);
        EXPECT_TRUE(predict::shift_traffic(*f, router, 11)) << "all reach all";
      }
    }
  }
}

TEST(Fabrics, WithoutOversubscriptionAllOfItIsThereForWhoUsesAllWays) {
  EXPECT_NEAR(shifts(build_fabric({.nodes = 64, .nics = 4, .radix = 16}).value(), predict::Routing::adaptive), 1, 1e-9);
  EXPECT_NEAR(
      shifts(build_fabric({.kind = FabricKind::rail, .nodes = 64, .nics = 4, .radix = 32}).value(), predict::Routing::adaptive),
      1, 1e-9);
  const Fabric tree = build_fabric({.nodes = 128, .nics = 1, .radix = 8, .levels = 3}).value();
  EXPECT_NEAR(shifts(tree, predict::Routing::adaptive), 1, 1e-9);
  EXPECT_LT(shifts(tree, predict::Routing::hashed), 0.8) << "hashes collide";
}

TEST(Fabrics, OversubscribedLeavesGiveTheirShare) {
  const Fabric f = build_fabric({.nodes = 96, .nics = 1, .radix = 16, .oversubscription = 3}).value();
  predict::Router router(f, predict::Routing::adaptive);
  const auto t = predict::shift_traffic(f, router).value();
  EXPECT_NEAR(t.worst, 1.0 / 3, 0.01);
}

TEST(Fabrics, WhatCannotBeIsSaid) {
  const auto small = build_fabric({.nodes = 1024, .nics = 8, .radix = 16, .levels = 2});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().what, "2 levels of switches with 16 ports reach 128 network cards at most; 8192 are asked for");
  EXPECT_EQ(small.error().next, "three levels, a larger radix, more oversubscription, or fewer nodes");
  EXPECT_FALSE(build_fabric({.nodes = 0}));
  EXPECT_FALSE(build_fabric({.nodes = 4, .nics = 17}));
  EXPECT_FALSE(build_fabric({.nodes = 4, .radix = 3}));
  EXPECT_FALSE(build_fabric({.nodes = 4, .levels = 4}));
  EXPECT_FALSE(build_fabric({.nodes = 4, .oversubscription = 0.5}));
  EXPECT_FALSE(build_fabric({.nodes = 4, .gb_s = 0}));
  EXPECT_FALSE(build_fabric({.nodes = 60'000, .nics = 8, .radix = 32, .levels = 3}));
}

}  // namespace
}  // namespace muster::design
