#include "fleet/repair.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fleet/remedied.h"

namespace muster::fleet {
namespace {

RemedyBook remedies() {
  RemedyBook b;
  b.rows = {{"sysctl.*", RemedyBy::sysctl, "*", RemedyTakes::live, "", ""},
            {"driver.on_disk", RemedyBy::package, "nvidia-open nvidia-open", RemedyTakes::reboot, "", ""},
            {"driver.loaded", RemedyBy::package, "nvidia-open nvidia-open", RemedyTakes::reboot, "", ""},
            {"driver.uvm", RemedyBy::follows, "driver.loaded", RemedyTakes::reboot, "", ""},
            {"cmdline.*", RemedyBy::kernel_arg, "*", RemedyTakes::reboot, "", ""},
            {"bios.version", RemedyBy::redfish, "BIOS", RemedyTakes::reboot, "", ""}};
  return b;
}

Wish wish(std::uint32_t node, std::string key, std::string value) {
  return {node, 0, "", std::move(key), "was", std::move(value), false, "why"};
}

RepairOf fleet_of(std::size_t nodes) {
  RepairOf of;
  for (std::size_t i = 0; i < nodes; ++i) of.nodes.push_back("n" + std::to_string(i));
  of.cohorts = {"kind"};
  return of;
}

Repair plan(const RepairOf& of) { return plan_repair(of, {}, remedies()); }

TEST(Repair, NodesWithTheSameDifferenceAreOneSetAndOthersAreNotInIt) {
  RepairOf of = fleet_of(5);
  for (const std::uint32_t n : {1u, 3u}) of.wishes.push_back(wish(n, "sysctl.vm.swappiness", "1"));
  of.wishes.push_back(wish(4, "cmdline.iommu", "pt"));
  const Repair r = plan(of);
  ASSERT_EQ(r.sets.size(), 2u);
  EXPECT_EQ(r.sets[0].nodes, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(r.sets[0].changes[0].name, "vm.swappiness");
  EXPECT_EQ(r.sets[1].takes, RemedyTakes::reboot);
}

TEST(Repair, EveryChangeIsTriedOnACanaryAndEveryNodeIsInOneWave) {
  RepairOf of = fleet_of(1000);
  for (std::uint32_t n = 0; n < 1000; ++n)
    of.wishes.push_back(wish(n, n % 2 == 0 ? "sysctl.vm.swappiness" : "cmdline.iommu", "1"));
  const Repair r = plan(of);
  ASSERT_EQ(r.waves.size(), 5u);
  EXPECT_EQ(r.waves[0].nodes, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(r.waves[1].nodes.size(), 10u);
  EXPECT_EQ(r.waves[2].nodes.size(), 50u);
  EXPECT_EQ(r.waves[3].nodes.size(), 250u);
  std::vector<std::uint32_t> all;
  for (const Wave& w : r.waves) all.insert(all.end(), w.nodes.begin(), w.nodes.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size(), 1000u);
  EXPECT_TRUE(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST(Repair, NumbersAndCanariesDoNotHangOnTheOrderOfTheFacts) {
  std::vector<std::string> told;
  for (const bool backwards : {false, true}) {
    RepairOf of = fleet_of(12);
    if (backwards) std::reverse(of.nodes.begin(), of.nodes.end());
    for (std::uint32_t n = 0; n < 12; ++n) {
      const bool even = (n % 2 == 0) != backwards;
      of.wishes.push_back(wish(n, even ? "sysctl.vm.swappiness" : "cmdline.iommu", "1"));
    }
    const Repair r = plan(of);
    std::string text = r.sets.at(0).changes.at(0).name;
    for (const Wave& w : r.waves) {
      std::vector<std::string> names;
      for (const std::uint32_t n : w.nodes) names.push_back(r.nodes[n]);
      std::sort(names.begin(), names.end());
      for (const std::string& name : names) text += " " + name;
      text += ";";
    }
    told.push_back(text);
  }
  EXPECT_EQ(told[0], told[1]);
}

TEST(Repair, EachNvlinkDomainOfSeveralNodesHasACanary) {
  RepairOf of = fleet_of(36);
  for (std::uint32_t n = 0; n < 36; ++n) {
    of.domain.push_back(n / 18);
    of.wishes.push_back(wish(n, "sysctl.vm.swappiness", "1"));
  }
  EXPECT_EQ(plan(of).waves[0].nodes, (std::vector<std::uint32_t>{0, 18}));
}

TEST(Repair, FactsThatAskForTheSameChangeAreOneChange) {
  RepairOf of = fleet_of(1);
  for (const char* key : {"driver.on_disk", "driver.loaded", "driver.uvm"}) of.wishes.push_back(wish(0, key, "580.1"));
  const Repair r = plan(of);
  ASSERT_EQ(r.sets.size(), 1u);
  ASSERT_EQ(r.sets[0].changes.size(), 1u);
  EXPECT_EQ(r.sets[0].changes[0].facts, (std::vector<std::string>{"driver.on_disk", "driver.loaded"}));
  EXPECT_TRUE(r.by_hand.empty());
}

TEST(Repair, FactsThatAskForTwoThingsAreForAPerson) {
  RepairOf of = fleet_of(1);
  of.wishes = {wish(0, "driver.on_disk", "580.1"), wish(0, "driver.loaded", "575.1")};
  const Repair r = plan(of);
  EXPECT_TRUE(r.sets.empty());
  EXPECT_EQ(r.by_hand.size(), 2u);
}

TEST(Repair, WhatMovesWithSomethingThatIsRightIsForAPerson) {
  RepairOf of = fleet_of(1);
  of.wishes = {wish(0, "driver.uvm", "580.1"), wish(0, "sites.own", "x")};
  const Repair r = plan(of);
  EXPECT_TRUE(r.sets.empty());
  ASSERT_EQ(r.by_hand.size(), 2u);
  EXPECT_NE(r.by_hand[0].what.find("reboot the node"), std::string::npos);
  EXPECT_EQ(r.by_hand[1].what, "no tool is known to change it");
}

TEST(Repair, NothingThatATemplateOrAShellWouldTakeForItsOwnIsWritten) {
  for (const char* bad :
       {"{{ lookup('pipe','id') }}", "$(id)", "a\nb", "a\"b", "`id`", "a;b", "${x}", "%{x}", "a'b", "\xc3\xa4"}) {
    EXPECT_FALSE(plain_value(bad)) << bad;
    RepairOf of = fleet_of(1);
    of.wishes = {wish(0, "sysctl.vm.swappiness", bad)};
    const Repair r = plan(of);
    EXPECT_TRUE(r.sets.empty()) << bad;
    EXPECT_EQ(r.by_hand.size(), 1u) << bad;
  }
  RepairOf of = fleet_of(1);
  of.nodes[0] = "n0; id";
  of.wishes = {wish(0, "sysctl.vm.swappiness", "1")};
  EXPECT_TRUE(plan(of).sets.empty());
  EXPECT_EQ(plan(of).notes.size(), 1u);
}

TEST(Repair, TabsOfTheKernelAreBlanksInAFile) {
  RepairOf of = fleet_of(1);
  of.wishes = {wish(0, "sysctl.net.ipv4.tcp_rmem", "4096\t131072\t6291456")};
  EXPECT_EQ(plan(of).sets.at(0).changes.at(0).value, "4096 131072 6291456");
}

TEST(Repair, WhatNeedsARebootNeedsADrainThoughFirmwareIsWrittenByAController) {
  RepairOf of = fleet_of(1);
  of.wishes = {wish(0, "bios.version", "1.6.7")};
  const Repair r = plan(of);
  EXPECT_EQ(r.sets.at(0).takes, RemedyTakes::reboot);
  EXPECT_TRUE(r.sets.at(0).drain);
}

TEST(Repair, TheSameOfEightGpusIsOneThing) {
  RepairOf of = fleet_of(2);
  for (const std::uint32_t n : {0u, 1u}) {
    for (const char* gpu : {"gpu0", "gpu1", "gpu2"}) {
      Wish w = wish(n, "sites.own", "x");
      w.entity = gpu;
      of.wishes.push_back(w);
    }
  }
  Wish other = wish(1, "sites.own", "x");
  other.entity = "gpu7";
  of.wishes.push_back(other);
  const Repair r = plan(of);
  ASSERT_EQ(r.by_hand.size(), 2u);
  EXPECT_EQ(r.by_hand[0].entities, (std::vector<std::string>{"gpu0", "gpu1", "gpu2"}));
  EXPECT_EQ(r.by_hand[1].nodes, (std::vector<std::uint32_t>{1})) << "of other nodes, another thing";
}

TEST(Repair, ADriverIsNotDeclaredBesideAnotherFabricManager) {
  Site site;
  site.nodes.push_back({"n0", 0, 0, 0, 0, ""});
  Declarations d(2);
  d[0] = {"", "driver.loaded", "535.129.03", false, {}, {}, "g:1"};
  d[1] = {"", "fabricmanager.version", "580.159.04", false, {}, {}, "g:2"};
  RepairOf of = declared_for(site, d);
  ASSERT_EQ(of.refused.size(), 1u);
  EXPECT_NE(of.refused.begin()->second.find("fabricmanager.version is to be 580.159.04"), std::string::npos);
  d[1].value = "535.129.03-1";
  EXPECT_TRUE(declared_for(site, d).refused.empty());
}

TEST(Repair, OfDeclaredValuesTheLaterHoldsAndThoseByWhatANodeIsAreLeftOut) {
  Site site;
  site.gpu_model = "H200";
  for (const char* name : {"n0", "n1"}) site.nodes.push_back({name, 0, 0, 0, 0, ""});
  Declarations d(3);
  d[0] = {"", "sysctl.vm.swappiness", "10", false, {}, {}, "g:1"};
  d[1] = {"", "sysctl.vm.swappiness", "1", false, {"n1"}, {}, "g:2"};
  d[2] = {"", "sysctl.vm.swappiness", "7", false, {}, {{"node.product", "X"}}, "g:3"};
  const RepairOf of = declared_for(site, d);
  ASSERT_EQ(of.wishes.size(), 2u);
  EXPECT_EQ(of.wishes[0].value, "10");
  EXPECT_EQ(of.wishes[1].value, "1");
  EXPECT_EQ(of.notes.size(), 1u);
}

}  // namespace
}  // namespace muster::fleet
