#include "fleet/joining.h"

#include <gtest/gtest.h>

namespace muster::fleet {
namespace {

constexpr const char* kLeast[] = {"node.product", "cpu.model",      "memory.gib", "gpu.count",
                                  "os.id",        "kernel.release", "nic.count",  "driver.loaded"};

// Six nodes of a kind; the last is the one that wants to join.
struct Fleet {
  FactTable table;
  Golden golden;

  Fleet() {
    Cohort c;
    c.name = "kind";
    for (std::uint32_t n = 0; n < 6; ++n) {
      table.node("n" + std::to_string(n));
      for (const char* key : kLeast) table.put(n, "", key, "8");
      c.nodes.push_back(n);
    }
    golden.cohorts = {c};
  }
};

TEST(Joining, WhatIsKnownOfItsKindMustBeKnownOfIt) {
  Fleet f;
  EXPECT_EQ(worst(facts_reasons(f.table, {}, 5, f.golden)), Fitness::fit);
  for (std::uint32_t n = 0; n < 5; ++n) f.table.put(n, "eth0", "netif.mtu", "9000");
  const auto missing = facts_reasons(f.table, {}, 5, f.golden);
  EXPECT_EQ(worst(missing), Fitness::unknown);
  EXPECT_NE(missing[0].what.find("eth0:netif.mtu"), std::string::npos);
  f.table.put_unreadable(5, "eth0", "netif.mtu");
  EXPECT_EQ(worst(facts_reasons(f.table, {}, 5, f.golden)), Fitness::unknown);
  f.table.put_absent(5, "eth0", "netif.mtu");
  EXPECT_EQ(worst(facts_reasons(f.table, {}, 5, f.golden)), Fitness::fit)
      << "absent is an answer: whether it is right, its kind says";
}

TEST(Joining, AKindOfFewSaysNothingUnlessSomebodyDeclaredSomething) {
  Fleet f;
  f.golden.cohorts[0].nodes = {4, 5};
  EXPECT_EQ(worst(kind_reasons(f.table, {}, 5, f.golden, {}, {})), Fitness::unknown);
  EXPECT_EQ(worst(kind_reasons(f.table, {}, 5, f.golden, {"gpu.count"}, {})), Fitness::unknown);
  const std::vector<std::string> enough = {"gpu.count", "kernel.release", "driver.loaded"};
  EXPECT_EQ(worst(kind_reasons(f.table, {}, 5, f.golden, enough, {})), Fitness::fit);
  Declaration of_other, of_it;
  of_other.key = "gpu.count";
  of_other.nodes = {"n4"};
  of_it.key = "driver.loaded";
  of_it.where = {{"os.id", "8"}};
  EXPECT_EQ(declared_of(f.table, {of_other, of_it}, 5), std::vector<std::string>{"driver.loaded"});
}

TEST(Joining, WhatIsNotKnownIsNotAsItsKindIs) {
  Fleet f;
  f.table.put_unreadable(5, "", "driver.loaded");
  EXPECT_EQ(worst(kind_reasons(f.table, {}, 5, f.golden, {}, {})), Fitness::unknown);
}

TEST(Joining, FactsAndRecordingsGrowOld) {
  Fleet f;
  const Freshness now{Time{days(1000).ns}};
  f.table.set_source(5, "probe", Time{days(999).ns});
  EXPECT_EQ(worst(age_reasons(f.table, 5, now)), Fitness::fit);
  EXPECT_EQ(worst(age_reasons(f.table, 4, now)), Fitness::unknown) << "facts of no time";
  f.table.set_source(3, "probe", Time{days(900).ns});
  EXPECT_EQ(worst(age_reasons(f.table, 3, now)), Fitness::unknown) << "old";
  f.table.set_source(2, "probe", Time{days(1002).ns});
  EXPECT_EQ(worst(age_reasons(f.table, 2, now)), Fitness::unknown) << "of a time to come";
  Accepted a{true, true, "n5", "8", 8, Time{days(999).ns}, "PASS"};
  EXPECT_EQ(worst(acceptance_reasons(f.table, 5, a, now)), Fitness::fit);
  Freshness anew = now;
  anew.installed_after = Time{days(999).ns + 1};
  EXPECT_EQ(worst(acceptance_reasons(f.table, 5, a, anew)), Fitness::unknown) << "of before it was installed again";
  a.begun = Time{days(900).ns};
  EXPECT_EQ(worst(acceptance_reasons(f.table, 5, a, now)), Fitness::unknown);
}

TEST(Joining, ADifferenceFromItsKindIsUnfitAndThoseOfOthersAreNotIts) {
  Fleet f;
  Difference d;
  d.node = 2;
  d.has = kFirstValue;
  d.wanted = "9";
  f.golden.differences = {d};
  EXPECT_EQ(worst(kind_reasons(f.table, {}, 5, f.golden, {}, {})), Fitness::fit);
  f.golden.differences[0].node = 5;
  EXPECT_EQ(worst(kind_reasons(f.table, {}, 5, f.golden, {}, {})), Fitness::unfit);
}

TEST(Joining, ARecordingCountsOnlyOfThisNodeItsGpusAndTheDriverThatIsLoaded) {
  Fleet f;
  const Accepted good{true, true, "n5", "8", 8, Time{days(999).ns}, "PASS"};
  const Freshness now{Time{days(1000).ns}};
  EXPECT_EQ(worst(acceptance_reasons(f.table, 5, good, now)), Fitness::fit);
  EXPECT_EQ(worst(acceptance_reasons(f.table, 5, {}, now)), Fitness::unknown);
  Accepted a = good;
  a.node = "n4";
  EXPECT_EQ(worst(acceptance_reasons(f.table, 5, a, now)), Fitness::unknown);
  a = good;
  a.driver = "";
  EXPECT_EQ(worst(acceptance_reasons(f.table, 5, a, now)), Fitness::unknown);
  a = good;
  a.gpus = 7;
  EXPECT_EQ(worst(acceptance_reasons(f.table, 5, a, now)), Fitness::unfit);
  a = good;
  a.pass = false;
  EXPECT_EQ(worst(acceptance_reasons(f.table, 5, a, now)), Fitness::unfit);
}

// The first `old` of the six were asked 100 days ago, the others yesterday.
std::vector<Reason> of_peers(std::uint32_t old, std::vector<std::uint32_t> kind = {0, 1, 2, 3, 4, 5}) {
  Fleet f;
  f.golden.cohorts[0].nodes = std::move(kind);
  for (std::uint32_t n = 0; n < 6; ++n) f.table.set_source(n, "probe", Time{days(n < old ? 900 : 999).ns});
  return peers_age_reasons(f.table, 5, f.golden, {}, Freshness{Time{days(1000).ns}});
}

TEST(Joining, AKindOfWhichNobodyAskedForLongSaysNotWhatItIsNow) {
  EXPECT_TRUE(of_peers(0).empty()) << "nothing is said of what is of late";
  const auto one = of_peers(1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].fitness, Fitness::fit) << "four of five are enough to say";
  EXPECT_NE(one[0].what.find("1 of 5 others"), std::string::npos) << one[0].what;
  const auto two = of_peers(2);
  ASSERT_EQ(two.size(), 1u);
  EXPECT_EQ(two[0].fitness, Fitness::unknown);
  EXPECT_NE(two[0].what.find(render_utc(Time{days(900).ns})), std::string::npos) << "the oldest is named: " << two[0].what;
  EXPECT_TRUE(of_peers(5, {4, 5}).empty()) << "so few are not asked";
}

}  // namespace
}  // namespace muster::fleet
