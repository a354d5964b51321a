#include "design/fabric_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace muster::design {
namespace {

FabricPlanAsk asked(FabricAsk fabric, std::vector<std::uint32_t> grow = {}) {
  FabricPlanAsk a;
  a.fabric = fabric;
  a.grow = std::move(grow);
  a.prices.switch_usd = 1000;
  a.prices.copper_cable = 1;
  a.prices.active_copper_cable = 2;
  a.prices.active_cable = 3;
  a.prices.fibre = 4;
  a.prices.transceiver = 5;
  a.prices.sources["switch"] = "prices.csv:9: a quotation";
  return a;
}

// Even and uneven, two and three levels, rails, oversubscribed, groups, growing.
std::vector<FabricPlanAsk> several() {
  return {
      asked({.nodes = 8, .nics = 8, .radix = 16}),
      asked({.nodes = 60, .nics = 1, .radix = 16}),
      asked({.kind = FabricKind::rail, .nodes = 29, .nics = 8, .radix = 32}),
      asked({.nodes = 100, .nics = 1, .radix = 8, .levels = 3}),
      asked({.kind = FabricKind::rail, .nodes = 13, .nics = 4, .radix = 8, .levels = 3}),
      asked({.nodes = 96, .nics = 1, .radix = 20, .oversubscription = 1.5}),
      asked({.nodes = 75, .nics = 2, .radix = 12, .levels = 3, .oversubscription = 2}),
      asked({.kind = FabricKind::dragonfly, .nodes = 50, .nics = 1, .radix = 11}),
      asked({.nodes = 3, .nics = 2, .radix = 8}, {9, 40}),
      asked({.kind = FabricKind::rail, .nodes = 4, .nics = 4, .radix = 8}, {8, 13, 32}),
      asked({.kind = FabricKind::dragonfly, .nodes = 20, .nics = 1, .radix = 11}, {60, 100}),
  };
}

using End = std::pair<std::string, std::uint16_t>;
std::map<End, End> cables_of(const Fabric& f) {
  std::map<End, End> out;
  for (std::size_t l = 0; l < f.links.size(); ++l) {
    const FabricLink &a = f.links[l], &b = f.links[l ^ 1U];
    const bool fresh = out.try_emplace({f.nodes[a.from].name, a.port}, End{f.nodes[b.from].name, b.port}).second;
    EXPECT_TRUE(fresh) << f.nodes[a.from].name << " port " << a.port << " is used twice";
  }
  return out;
}

// Links between an endpoint and each node.
std::vector<int> hops_from(const Fabric& f, std::uint32_t start) {
  std::vector<int> out(f.nodes.size(), -1);
  std::queue<std::uint32_t> next;
  out[start] = 0;
  next.push(start);
  while (!next.empty()) {
    const std::uint32_t n = next.front();
    next.pop();
    for (const std::uint32_t l : f.nodes[n].out) {
      if (l == Fabric::kNoLink || out[f.links[l].to] >= 0) continue;
      out[f.links[l].to] = out[n] + 1;
      next.push(f.links[l].to);
    }
  }
  return out;
}

TEST(FabricPlan, EveryStepIsAWholeNetwork) {
  for (const FabricPlanAsk& ask : several()) {
    const auto plan = plan_fabric(ask);
    ASSERT_TRUE(plan) << plan.error().what;
    const bool groups = ask.fabric.kind == FabricKind::dragonfly;
    for (std::size_t k = 0; k < plan->steps.size(); ++k) {
      const PlanStep& s = plan->steps[k];
      const Fabric f = fabric_at(*plan, k);
      cables_of(f);
      std::uint32_t switches = 0;
      for (const FabricNode& n : f.nodes) {
        switches += n.is_switch ? 1 : 0;
        EXPECT_LE(n.out.size(), n.is_switch ? ask.fabric.radix + 1U : 2U) << n.name;
      }
      EXPECT_EQ(switches, s.all_switches());
      EXPECT_EQ(f.endpoints().size(), s.nodes * ask.fabric.nics);
      EXPECT_EQ(f.links.size() / 2, s.all_cables());
      // Two levels: three switches between the farthest; three: five. Of groups: two in each and no more.
      const int farthest = groups ? 5 : s.switches[2] > 0 ? 6 : s.switches[1] > 0 ? 4 : 2;
      const std::vector<int> hops = hops_from(f, f.endpoints().front());
      for (const std::uint32_t e : f.endpoints()) {
        EXPECT_GE(hops[e], 0) << f.nodes[e].name << " is not reached";
        EXPECT_LE(hops[e], farthest) << f.nodes[e].name;
      }
    }
  }
}

TEST(FabricPlan, GrowingMovesNoCable) {
  for (const FabricPlanAsk& ask : several()) {
    const auto plan = plan_fabric(ask);
    ASSERT_TRUE(plan);
    std::uint32_t switches = 0, cables = 0;
    std::map<End, End> before;
    for (std::size_t k = 0; k < plan->steps.size(); ++k) {
      const std::map<End, End> now = cables_of(fabric_at(*plan, k));
      for (const auto& [here, there] : before) {
        const auto at = now.find(here);
        ASSERT_NE(at, now.end()) << here.first << " port " << here.second;
        EXPECT_EQ(at->second, there) << here.first << " port " << here.second;
      }
      before = now;
      switches += plan->steps[k].added.switches;
      cables += plan->steps[k].added.cables;
      EXPECT_EQ(switches, plan->steps[k].all_switches());
      EXPECT_EQ(cables, plan->steps[k].all_cables());
    }
  }
}

TEST(FabricPlan, LeavesHaveTheirShareOfUplinksOnTheSamePorts) {
  for (const double over : {1.0, 2.0, 3.0}) {
    const FabricAsk a{.nodes = 77, .nics = 1, .radix = 16, .levels = 3, .oversubscription = over};
    const auto plan = plan_fabric(asked(a));
    ASSERT_TRUE(plan);
    std::set<std::uint16_t> first_up;
    for (std::size_t i = 0; i < plan->whole.nodes.size(); ++i) {
      if (plan->tiers[i] != 1) continue;
      std::uint32_t down = 0, up = 0;
      for (std::uint16_t p = 1; p < plan->whole.nodes[i].out.size(); ++p) {
        const std::uint32_t l = plan->whole.out(static_cast<std::uint32_t>(i), p);
        if (l == Fabric::kNoLink) continue;
        const bool above = plan->tiers[plan->whole.links[l].to] == 2;
        if (above && up == 0) first_up.insert(p);
        ++(above ? up : down);
      }
      EXPECT_LE(down, up * over) << plan->whole.nodes[i].name;
    }
    EXPECT_EQ(first_up.size(), 1U) << "the last leaf's uplinks stand where those of the others do";
  }
}

TEST(FabricPlan, RailsNeverMeetBelowTheSpine) {
  const auto plan = plan_fabric(asked({.kind = FabricKind::rail, .nodes = 45, .nics = 8, .radix = 16, .levels = 3}));
  ASSERT_TRUE(plan);
  for (std::uint32_t i = 0; i < plan->whole.nodes.size(); ++i) {
    if (plan->tiers[i] != 1) continue;
    std::set<std::string> rails;
    for (const std::uint32_t l : plan->whole.nodes[i].out) {
      if (l == Fabric::kNoLink) continue;
      const std::uint32_t to = plan->whole.links[l].to;
      EXPECT_NE(plan->tiers[to], 1) << "leaves are not cabled to each other";
      const std::string& name = plan->whole.nodes[to].name;
      if (plan->tiers[to] == 0) rails.insert(name.substr(name.find(' ')));
    }
    EXPECT_EQ(rails.size(), 1U) << plan->whole.nodes[i].name;
  }
}

TEST(FabricPlan, SwitchesAboveComeWhenThereIsSomethingToJoin) {
  const auto plan = plan_fabric(asked({.nodes = 2, .nics = 2, .radix = 8}, {8, 60}));
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->steps[0].switches, (std::array<std::uint32_t, 3>{1, 0, 0}));
  EXPECT_GT(plan->steps[1].switches[1], 0U);
  EXPECT_EQ(plan->steps[1].switches[2], 0U) << "one pod needs no cores";
  EXPECT_GT(plan->steps[2].switches[2], 0U);
  EXPECT_EQ(roots_at(*plan, 0).size(), 1U);
  EXPECT_EQ(roots_at(*plan, 1).size(), plan->steps[1].switches[1]);
  EXPECT_EQ(roots_at(*plan, 2).size(), plan->steps[2].switches[2]);
}

TEST(FabricPlan, TwoThingsNeverStandInOnePlace) {
  for (const FabricPlanAsk& ask : several()) {
    const auto plan = plan_fabric(ask);
    ASSERT_TRUE(plan);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::string> taken;
    for (std::size_t i = 0; i < plan->whole.nodes.size(); ++i) {
      const Spot& s = plan->floor.spots[i];
      const std::string& name = plan->whole.nodes[i].name;
      const std::string who = name.substr(0, name.find(' '));  // the cards of a node stand where it does
      EXPECT_LE(s.unit, kRackUnits);
      const auto [at, fresh] = taken.try_emplace({s.row, s.rack, s.unit}, who);
      EXPECT_TRUE(fresh || at->second == who) << who << " and " << at->second << " at " << rack_name(s);
    }
  }
}

TEST(FabricPlan, LengthsAreSoldAndDecideTheMedium) {
  EXPECT_EQ(cable_length_m({0, 0, 1}, {0, 0, 33}), 2);
  EXPECT_EQ(cable_length_m({0, 0, 33}, {0, 0, 1}), 2);
  EXPECT_EQ(cable_length_m({0, 0, 40}, {0, 1, 40}), 2.5);
  EXPECT_GT(cable_length_m({0, 0, 40}, {5, 0, 40}), cable_length_m({0, 0, 40}, {1, 0, 40}));
  // Leaves of four nodes stand on top of their racks: copper.
  const auto tor = plan_fabric(asked({.nodes = 128, .nics = 8, .radix = 64}));
  ASSERT_TRUE(tor);
  EXPECT_EQ(tor->steps[0].cables[0], 1024U);
  FabricPlanAsk none = asked({.nodes = 128, .nics = 8, .radix = 64});
  none.reach = {0, 0, 0};
  const auto optic = plan_fabric(none);
  ASSERT_TRUE(optic);
  EXPECT_EQ(optic->steps[0].cables[3], optic->steps[0].all_cables());
  EXPECT_EQ(optic->steps[0].transceivers, 2 * optic->steps[0].all_cables());
  EXPECT_GT(optic->steps[0].network_kw, tor->steps[0].network_kw);
}

TEST(FabricPlan, ABillNamesItsSources) {
  const auto plan = plan_fabric(asked({.kind = FabricKind::rail, .nodes = 32, .nics = 8, .radix = 64}, {64}));
  ASSERT_TRUE(plan);
  for (const PlanStep& s : plan->steps) {
    double usd = 0;
    for (const BillLine& b : s.bill) usd += static_cast<double>(b.count) * b.usd_each;
    EXPECT_DOUBLE_EQ(usd, s.usd);
  }
  EXPECT_EQ(plan->steps[0].bill.front().item, "switch");
  EXPECT_EQ(plan->steps[0].bill.front().source, "prices.csv:9: a quotation");
}

TEST(FabricPlan, OnlyWhatIsFullIsPromisedWhole) {
  const auto promised = [](FabricAsk a) { return plan_fabric(asked(a)).value().steps[0].shift_share; };
  EXPECT_EQ(promised({.nodes = 64, .nics = 1, .radix = 16}), 1);
  EXPECT_EQ(promised({.nodes = 4, .nics = 8, .radix = 64}), 1) << "one leaf";
  EXPECT_EQ(promised({.nodes = 128, .nics = 1, .radix = 8, .levels = 3}), 1);
  EXPECT_EQ(promised({.nodes = 96, .nics = 1, .radix = 24, .oversubscription = 2}), 0.5);
  EXPECT_LT(promised({.nodes = 60, .nics = 1, .radix = 16}), 1);
  EXPECT_GT(promised({.nodes = 60, .nics = 1, .radix = 16}), 0.9);
  EXPECT_LT(promised({.kind = FabricKind::dragonfly, .nodes = 64, .nics = 1, .radix = 16}), 0.5);
}

TEST(FabricPlan, WhatIsWastedOrHardToBuyIsNoted) {
  const auto noted = [](const FabricPlanAsk& a, std::string_view part) {
    const auto plan = plan_fabric(a).value();
    return std::any_of(plan.notes.begin(), plan.notes.end(),
                       [&](const std::string& n) { return n.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(noted(asked({.nodes = 279, .nics = 1, .radix = 62}), "--radix 60 of the same switches takes 15 instead of 40"));
  EXPECT_FALSE(noted(asked({.nodes = 32, .nics = 8, .radix = 62}), "of the same switches"));
  EXPECT_FALSE(noted(asked({.nodes = 32, .nics = 8, .radix = 64}), "of the same switches"));
  FabricPlanAsk ndr = asked({.kind = FabricKind::rail, .nodes = 128, .nics = 8, .radix = 64});
  EXPECT_TRUE(noted(ndr, "--aec-m 0 --aoc-m 0"));
  ndr.reach.aec_m = ndr.reach.aoc_m = 0;
  EXPECT_FALSE(noted(ndr, "--aoc-m 0"));
  EXPECT_FALSE(noted(asked({.kind = FabricKind::rail, .nodes = 128, .nics = 8, .radix = 40, .gb_s = 25}), "--aoc-m 0"));
}

TEST(FabricPlan, NodesGetTheNamesOfTheSite) {
  FabricPlanAsk a = asked({.nodes = 3, .nics = 2, .radix = 8});
  a.name_format = "gpu-###.hall";
  const auto plan = plan_fabric(a);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->whole.nodes[0].name, "gpu-001.hall mlx5_0");
  EXPECT_EQ(plan->whole.nodes[5].name, "gpu-003.hall mlx5_1");
  for (const char* wrong : {"gpu", "gpu#-#", "gpu #", "gpu\n#"}) {
    a.name_format = wrong;
    EXPECT_FALSE(plan_fabric(a)) << wrong;
  }
  a.name_format = "gpu#";
  a.fabric.nodes = 10;
  EXPECT_EQ(plan_fabric(a).error().what, "10 nodes do not fit into 1 digits");
}

TEST(FabricPlan, WhatCannotBeIsSaid) {
  EXPECT_EQ(plan_fabric(asked({.nodes = 8}, {4})).error().what, "a network of 8 nodes does not grow to 4");
  FabricPlanAsk hot = asked({.nodes = 8});
  hot.node_kw = 50;
  EXPECT_EQ(plan_fabric(hot).error().what, "a node of 50 kW does not fit into a rack of 45 kW");
  FabricPlanAsk high = asked({.nodes = 8});
  high.floor.nodes_per_rack = 6;
  EXPECT_EQ(plan_fabric(high).error().what, "6 nodes of 8 units do not fit into a rack of 42");
  high.floor = {.nodes_per_rack = 0, .node_units = 0};
  EXPECT_EQ(plan_fabric(high).error().what, "a node is 1 to 42 units high, not 0");
  EXPECT_FALSE(plan_fabric(asked({.nodes = 0})));
  const auto many = plan_fabric(asked({.nodes = 8192, .nics = 8, .radix = 64}));
  ASSERT_TRUE(many);
  ASSERT_FALSE(many->notes.empty());
  EXPECT_NE(many->notes.front().find("several subnets"), std::string::npos);
}

}  // namespace
}  // namespace muster::design
