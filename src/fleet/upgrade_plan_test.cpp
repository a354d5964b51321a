// Plans of rolling upgrades: each test is a fleet and what is to become of it.
#include "fleet/upgrade_plan.h"

#include <gtest/gtest.h>

#include <set>

namespace muster::fleet {
namespace {

class Planning : public ::testing::Test {
 protected:
  Planning() {
    order = {{"firmware", 30, {"firmware.bundle"}, {}, {}, "", "C061", "the bundle before the driver", "guide"},
             {"driver", 70, {"driver.loaded", "libcuda.version"}, {}, {"fabricmanager", "imex"}, "", "C023", "as one", "readme"},
             {"fabricmanager", 71, {"fabricmanager.version"}, {}, {"driver"}, "", "C027", "refuses another", "issue 544"},
             {"imex", 73, {"imex.version"}, {}, {"driver"}, "one version in a domain", "C034", "as one", "versions.json", true},
             {"cuda", 80, {"cuda.toolkit"}, {}, {}, "", "C001", "after its driver", "docs"},
             {"nccl", 90, {"nccl.system"}, {}, {}, "all ranks need one", "C036", "last", "init.cc"}};
    FleetRule r;
    r.id = "C001";
    r.kind = RuleKind::min;
    r.a = "cuda.toolkit";
    r.range_a = "in 13";
    r.b = "driver.loaded";
    r.range_b = ">= 580";
    r.severity = RuleSeverity::error;
    r.says = "CUDA 13 needs a driver of at least 580";
    r.source = "docs.nvidia.com";
    rules.push_back(r);
    for (const char* key : {"driver.loaded", "libcuda.version", "fabricmanager.version", "imex.version", "firmware.bundle",
                            "cuda.toolkit", "nccl.system", "node.product"}) {
      FactMeaning m;
      m.key = key;
      m.kind = FactKind::version;
      m.layer = std::string_view(key) == "node.product" ? FactLayer::hardware : FactLayer::driver;
      book.at[key] = book.rows.size();
      book.rows.push_back(m);
    }
  }
  void fleet(std::uint32_t nodes, std::uint32_t in_domain, std::uint32_t in_rack) {
    for (std::uint32_t n = 0; n < nodes; ++n) {
      NodeSpec x;
      x.name = "n" + std::to_string(1000 + n);
      x.domain = n / in_domain;
      x.rack = n / in_rack;
      site.nodes.push_back(x);
      const std::size_t row = table.node(x.name);
      table.put(row, "", "node.product", "HGX");
      table.put(row, "", "driver.loaded", "570.1");
      table.put(row, "", "libcuda.version", "570.1");
      table.put(row, "", "fabricmanager.version", "570.1");
      table.put_absent(row, "", "imex.version");
    }
  }
  Result<UpgradePlan> plan(std::vector<std::pair<std::string, std::string>> to, std::uint32_t canaries = 0) {
    ask.to = std::move(to);
    ask.canaries = canaries;
    return plan_upgrade(ask, table, book, site, order, rules);
  }

  bool noted(const UpgradePlan& p, const std::string& what) const {
    return std::any_of(p.notes.begin(), p.notes.end(), [&](const std::string& n) { return n.find(what) != std::string::npos; });
  }

  UpgradeAsk ask;
  std::vector<UpgradeStep> order;
  std::vector<FleetRule> rules;
  FactBook book;
  FactTable table;
  Site site;
};

TEST_F(Planning, NodesOfTheClusterOfWhichNothingIsKnownAreNamed) {
  fleet(8, 1, 4);
  for (const char* name : {"n2001", "n2002"}) {
    site.nodes.push_back(site.nodes.back());
    site.nodes.back().name = name;
  }
  const auto p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_TRUE(noted(*p, "2 nodes of the cluster without facts, left out: n[2001-2002]")) << p->notes.front();
}

TEST_F(Planning, FactsThatAreOldOfTheFutureOrWithoutATimeSayNothingOfNow) {
  fleet(8, 1, 4);
  ask.now = Time{1'000 * days(1).ns};
  for (std::size_t n = 0; n < 8; ++n) table.set_source(n, "test", ask.now - days(6));
  auto p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_TRUE(p->unknown.empty());
  table.set_source(0, "test", ask.now + days(2));
  ask.now = ask.now + days(2);  // the others are eight days old now
  p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p) << p.error().what;
  ASSERT_EQ(p->unknown.size(), 1U);
  EXPECT_EQ(p->unknown[0].nodes.size(), 7U);
  EXPECT_NE(p->unknown[0].says.find("more than 7 days old"), std::string::npos) << p->unknown[0].says;
  ask.now = ask.now - days(2);
  p = plan({{"driver", "580.2"}});
  ASSERT_EQ(p->unknown.size(), 1U);
  EXPECT_EQ(p->unknown[0].nodes, std::vector<std::string>{"n1000"});
  EXPECT_NE(p->unknown[0].says.find("not yet"), std::string::npos) << p->unknown[0].says;
}

TEST_F(Planning, ANcclBuiltForACudaThatTheDriverIsNotKnownToRunIsUnknown) {
  fleet(8, 1, 4);
  for (std::size_t n = 0; n < 8; ++n) table.put(n, "", "nccl.system", "2.26.2-1+cuda12.8");
  auto p = plan({{"nccl", "2.27.5-1+cuda12.9"}});
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_TRUE(p->unknown.empty());
  p = plan({{"nccl", "2.27.5-1+cuda13.0"}});
  ASSERT_TRUE(p) << p.error().what;
  ASSERT_EQ(p->unknown.size(), 1U);
  EXPECT_NE(p->unknown[0].says.find("built for CUDA 13.0"), std::string::npos) << p->unknown[0].says;
  for (std::size_t n = 0; n < 8; ++n) table.put(n, "", "cuda.driver_max", "13.0");
  EXPECT_TRUE(plan({{"nccl", "2.27.5-1+cuda13.0"}})->unknown.empty());
}

TEST_F(Planning, WhatMovesWithTheDriverIsAddedWhereNodesHaveItAndComesAfterFirmware) {
  fleet(8, 1, 4);
  for (std::size_t n = 0; n < 8; ++n) table.put(n, "", "firmware.bundle", "25.03");
  const auto p = plan({{"driver", "580.2"}, {"firmware", "25.06"}});
  ASSERT_TRUE(p) << p.error().what;
  ASSERT_EQ(p->parts.size(), 3U);
  EXPECT_EQ(p->parts[0].what, "firmware");
  EXPECT_EQ(p->parts[1].what, "driver");
  EXPECT_EQ(p->parts[2].what, "fabricmanager");
  EXPECT_TRUE(p->parts[2].added);
  EXPECT_EQ(p->parts[2].version, "580.2");
  EXPECT_EQ(p->parts[2].before, "570.1");
  EXPECT_EQ(p->parts[2].source, "issue 544");
  EXPECT_TRUE(p->apart.empty()) << "IMEX is absent everywhere";
  EXPECT_TRUE(p->unknown.empty());
}

TEST_F(Planning, WhatNobodyLookedAtIsUnknownNotFine) {
  fleet(8, 1, 4);
  const std::size_t row = table.node("n2000");
  NodeSpec x;
  x.name = "n2000";
  x.domain = x.rack = 9;
  site.nodes.push_back(x);
  table.put(row, "", "driver.loaded", "570.1");
  const auto p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p);
  ASSERT_FALSE(p->unknown.empty());
  EXPECT_TRUE(std::any_of(p->unknown.begin(), p->unknown.end(), [](const PlanWord& w) {
    return w.says.find("imex") != std::string::npos && w.nodes == std::vector<std::string>{"n2000"};
  }));
}

TEST_F(Planning, ADriverThatTheCudaOfTheNodesIsTooNewForIsRefusedWithItsSource) {
  fleet(8, 1, 4);
  for (std::size_t n = 0; n < 8; ++n) {
    table.put(n, "", "driver.loaded", "580.1");
    table.put(n, "", "cuda.toolkit", "13.0");
  }
  ask.allow_downgrade = true;
  const auto down = plan({{"driver", "570.9"}});
  ASSERT_TRUE(down);
  ASSERT_EQ(down->refused.size(), 1U);
  EXPECT_EQ(down->refused[0].rule, "C001");
  EXPECT_EQ(down->refused[0].source, "docs.nvidia.com");
  const auto up = plan({{"driver", "590.1"}});
  ASSERT_TRUE(up);
  EXPECT_TRUE(up->refused.empty());
}

TEST_F(Planning, AnotherNcclKeepsJobsApart) {
  fleet(8, 1, 4);
  for (std::size_t n = 0; n < 8; ++n) table.put(n, "", "nccl.system", "2.27");
  const auto p = plan({{"nccl", "2.28"}});
  ASSERT_TRUE(p);
  ASSERT_EQ(p->apart.size(), 1U);
  EXPECT_EQ(p->apart[0].rule, "C036");
}

TEST_F(Planning, ImexKeepsJobsApartWithinNvlinkDomainsAloneAndNcclBesideItKeepsWholeJobsApart) {
  fleet(16, 4, 4);
  for (std::size_t n = 0; n < 16; ++n) {
    table.put(n, "", "imex.version", "570.1");
    table.put(n, "", "nccl.system", "2.27");
  }
  UpgradeSpec s;
  const auto imex = plan({{"driver", "580.2"}});
  ASSERT_TRUE(imex);
  ASSERT_EQ(imex->apart.size(), 1U);
  put_plan(*imex, s);
  EXPECT_EQ(s.apart_within, ApartWithin::domain);
  const auto both = plan({{"driver", "580.2"}, {"nccl", "2.28"}});
  ASSERT_TRUE(both);
  ASSERT_EQ(both->apart.size(), 2U);
  put_plan(*both, s);
  EXPECT_EQ(s.apart_within, ApartWithin::job);
}

TEST_F(Planning, CanariesAreSpreadOverDomainsAndTheWavesAreNumbersThatAddUp) {
  fleet(216, 18, 36);
  const auto p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->canaries_wanted, 3U);
  ASSERT_EQ(p->canaries.size(), 9U);
  std::map<std::uint32_t, int> domains, racks;
  for (const NodeSpec& n : site.nodes) {
    if (std::find(p->canaries.begin(), p->canaries.end(), n.name) == p->canaries.end()) continue;
    ++domains[n.domain];
    ++racks[n.rack];
  }
  EXPECT_EQ(domains.size(), 9U) << "twelve domains: no two of one";
  EXPECT_EQ(racks.size(), 6U);
  std::uint32_t count = p->canaries_wanted;
  for (const UpgradeWave& w : p->waves) {
    EXPECT_GE(w.nodes, count) << "a wave at least doubles what has been tried";
    count += w.nodes;
  }
  EXPECT_EQ(count, 216U);
  UpgradeSpec s;
  put_plan(*p, s);
  EXPECT_TRUE(s.wait_for_jobs && s.measured);
  EXPECT_EQ(s.canaries, p->canaries_wanted);
  EXPECT_EQ(s.parts.size(), 2U);
  EXPECT_EQ(s.before, "570.1");
}

TEST_F(Planning, ManyCandidatesInFewDomainsAreSharedOutEvenly) {
  fleet(16, 8, 8);
  const auto p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p);
  const auto first = std::count_if(p->canaries.begin(), p->canaries.end(), [](const std::string& n) { return n < "n1008"; });
  EXPECT_EQ(p->canaries.size(), 9U);
  EXPECT_TRUE(first == 4 || first == 5) << first;
  EXPECT_TRUE(noted(*p, "3 canaries, but 2 NVLink domains"));
}

TEST_F(Planning, AsManyCanariesAsAreAskedForAndNeverMoreThanHalf) {
  fleet(16, 1, 4);
  const auto p = plan({{"driver", "580.2"}}, 5);
  ASSERT_TRUE(p);
  UpgradeSpec s;
  put_plan(*p, s);
  EXPECT_EQ(p->canaries_wanted, 5U);
  EXPECT_EQ(s.canaries, 5U);
  EXPECT_FALSE(plan({{"driver", "580.2"}}, 9));
  EXPECT_FALSE(plan({{"driver", "580.2"}}, 100));
}

TEST_F(Planning, NodesThatHaveItArePlannedNoMoreAndWhereAllHaveItThereIsNothingToDo) {
  fleet(16, 1, 4);
  for (std::size_t n = 0; n < 16; ++n) table.put(n, "", "nccl.system", n < 4 ? "2.28.9-1+cuda12.9" : "2.27.5");
  const auto some = plan({{"nccl", "2.28.9"}});
  ASSERT_TRUE(some);
  EXPECT_EQ(some->nodes.size(), 12U);
  EXPECT_EQ(some->parts[0].have_it, 4U);
  for (std::size_t n = 4; n < 16; ++n) table.put(n, "", "nccl.system", "2.28.9");
  const auto all = plan({{"nccl", "2.28.9"}});
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->nothing_to_do());
  EXPECT_TRUE(all->waves.empty());
}

TEST_F(Planning, WhoHasAnotherVersionIsLeftOutAndNamedSinceItCouldNotBeTakenBack) {
  fleet(16, 1, 4);
  for (std::size_t n = 0; n < 3; ++n) table.put(n, "", "driver.loaded", "565.9");
  const auto p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->nodes.size(), 13U);
  EXPECT_EQ(p->parts[0].before, "570.1");
  EXPECT_TRUE(noted(*p, "--nodes 'n[1000-1002]'"));
}

TEST_F(Planning, NodesWithoutAnyDriverAreLeftOut) {
  fleet(16, 1, 4);
  for (const char* key : {"driver.loaded", "libcuda.version", "fabricmanager.version"}) table.put_absent(15, "", key);
  const auto p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->nodes.size(), 15U);
  EXPECT_TRUE(noted(*p, "without any driver, left out: n1015"));
  EXPECT_TRUE(p->unknown.empty());
}

TEST_F(Planning, ADowngradeIsRefusedUnlessItIsAskedFor) {
  fleet(8, 1, 4);
  const auto no = plan({{"driver", "565.9"}});
  ASSERT_TRUE(no);
  ASSERT_EQ(no->refused.size(), 2U) << "driver and fabric manager";
  EXPECT_EQ(no->refused[0].nodes.size(), 8U);
  ask.allow_downgrade = true;
  const auto yes = plan({{"driver", "565.9"}});
  ASSERT_TRUE(yes);
  EXPECT_TRUE(yes->refused.empty());
  EXPECT_TRUE(noted(*yes, "from 570.1 back to 565.9"));
}

TEST_F(Planning, WhatIsNoVersionOfThePartIsNone) {
  fleet(8, 1, 4);
  for (const char* version : {"garbage", "latest", "580", "v580.159.04", "580.1.2.3", "580.", "580.1; rm"})
    EXPECT_FALSE(plan({{"driver", version}})) << version;
  EXPECT_FALSE(plan({{"nccl", "banana"}}));
  EXPECT_TRUE(plan({{"driver", "580.159.04"}}));
}

TEST_F(Planning, ACompanionThatIsAskedForBringsTheDriverAndAllThatMovesWithIt) {
  fleet(8, 1, 4);
  for (std::size_t n = 0; n < 8; ++n) table.put(n, "", "imex.version", "570.1");
  const auto p = plan({{"fabricmanager", "580.2"}});
  ASSERT_TRUE(p);
  ASSERT_EQ(p->parts.size(), 3U);
  EXPECT_EQ(p->parts[0].what, "driver");
  EXPECT_TRUE(p->parts[0].added);
  EXPECT_EQ(p->parts[2].what, "imex");
}

TEST_F(Planning, ADomainThatWouldStaySplitIsNotedAndWithImexRefused) {
  fleet(16, 4, 4);
  ask.nodes = {"n1000", "n1001", "n1004", "n1005", "n1006", "n1007"};
  const auto noted_only = plan({{"driver", "580.2"}});
  ASSERT_TRUE(noted_only);
  EXPECT_TRUE(noted(*noted_only, "NVLink domain 0 (n[1000-1003]): 2 of 4 nodes"));
  EXPECT_FALSE(noted(*noted_only, "NVLink domain 1"));
  for (std::size_t n = 0; n < 16; ++n) table.put(n, "", "imex.version", "570.1");
  const auto refused = plan({{"driver", "580.2"}});
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->refused.size(), 1U);
  EXPECT_EQ(refused->refused[0].rule, "C034");
}

TEST_F(Planning, DaemonsOfControllersAreNeverPlannedOntoNodesThatRunJobs) {
  order.insert(order.begin(), {"slurmctld", 20, {"slurm.slurmctld"}, {}, {}, "", "C077", "before slurmd", "guide"});
  order.push_back({"slurm", 100, {"slurm.slurmd"}, {}, {}, "", "C077", "after slurmctld", "guide"});
  fleet(8, 1, 4);
  for (std::size_t n = 0; n < 8; ++n) {
    table.put(n, "", "slurm.slurmctld", "24.05");
    table.put(n, "", "slurm.slurmd", "24.05");
  }
  const auto p = plan({{"slurmctld", "25.05"}});
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->nodes.empty());
  EXPECT_FALSE(p->nothing_to_do());
  ASSERT_EQ(p->refused.size(), 1U);
  EXPECT_NE(p->refused[0].next.find("slurmdbd, then slurmctld"), std::string::npos);
  table.put(7, "", "node.role", "controller");
  const auto known = plan({{"slurmctld", "25.05"}});
  ASSERT_TRUE(known);
  EXPECT_EQ(known->nodes, std::vector<std::string>{"n1007"});
  const auto both = plan({{"slurmctld", "25.05"}, {"slurm", "25.05"}});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->refused.size(), 1U) << "they are of different nodes";
}

TEST_F(Planning, AVersionInTheFactsThatIsNoneIsNotWhatAnybodyGoesBackTo) {
  fleet(8, 1, 4);
  for (std::size_t n = 0; n < 8; ++n) table.put(n, "", "driver.loaded", "570.1; reboot");
  const auto p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p);
  ASSERT_FALSE(p->refused.empty());
  EXPECT_NE(p->refused[0].says.find("no version"), std::string::npos);
}

TEST_F(Planning, EachKindOfNodesHasACanary) {
  fleet(40, 1, 4);
  for (std::size_t n = 30; n < 40; ++n) table.put(n, "", "node.product", "DGX");
  const auto p = plan({{"driver", "580.2"}});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->canaries_wanted, p->canaries.size()) << "all of them";
  EXPECT_TRUE(std::any_of(p->canaries.begin(), p->canaries.end(), [](const std::string& c) { return c >= "n1030"; }));
  EXPECT_TRUE(std::any_of(p->canaries.begin(), p->canaries.end(), [](const std::string& c) { return c < "n1030"; }));
}

TEST_F(Planning, AWordThatIsNothingToUpgradeAndAStrangerAreRefused) {
  fleet(4, 1, 4);
  const auto word = plan({{"divers", "1"}});
  ASSERT_FALSE(word);
  EXPECT_NE(word.error().next.find("driver"), std::string::npos);
  ask.to = {{"driver", "580.1"}};
  ask.nodes = {"nobody"};
  EXPECT_FALSE(plan_upgrade(ask, table, book, site, order, rules));
}

}  // namespace
}  // namespace muster::fleet
