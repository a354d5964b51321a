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

TEST(Joining, WhatItsKindDoesNotAgreeOnNobodyKnowsAndDeclaringItDecides) {
  Fleet f;
  for (std::uint32_t n = 0; n < 6; ++n) f.table.put(n, "", "kernel.release", n < 3 ? "5" : n < 5 ? "6" : "rogue");
  f.golden.undecided = {{static_cast<std::uint32_t>(f.table.find_column("", "kernel.release")), 0, {}, 0}};
  const auto open = kind_reasons(f.table, {}, 5, f.golden, {}, {});
  EXPECT_EQ(worst(open), Fitness::unknown);
  EXPECT_NE(open[0].what.find("kernel.release (rogue, as 0 others have)"), std::string::npos) << open[0].what;
  const auto declared = kind_reasons(f.table, {}, 5, f.golden, {"kernel.release"}, {});
  EXPECT_EQ(worst(declared), Fitness::fit);
  EXPECT_NE(declared[0].what.find("7 facts held against 5 others"), std::string::npos) << declared[0].what;
}

TEST(Joining, NamesAreNotCountedAsComparedAndStatesAreLeftToRules) {
  Fleet f;
  for (std::uint32_t n = 0; n < 6; ++n) {
    f.table.put(n, "", "node.tag", std::to_string(n));
    f.table.put(n, "nic0", "nic.state", std::to_string(n / 3));
  }
  FactBook book;
  book.at["nic.state"] = 0;
  book.rows.push_back({"nic.state", "nic", FactLayer::state, FactKind::text, "", ""});
  f.golden.own = {{0, static_cast<std::uint32_t>(f.table.find_column("", "node.tag"))}};
  f.golden.undecided = {{static_cast<std::uint32_t>(f.table.find_column("nic0", "nic.state")), 0, {}, 0}};
  const auto said = kind_reasons(f.table, book, 5, f.golden, {}, {});
  EXPECT_EQ(worst(said), Fitness::fit);
  EXPECT_NE(said[0].what.find("8 facts held against 5 others"), std::string::npos) << said[0].what;
}

TEST(Joining, ANodeThatIsAnotherOneTooIsNotFit) {
  Fleet f;
  for (std::uint32_t n = 0; n < 6; ++n) {
    f.table.put(n, "", "node.serial", "To be filled by O.E.M.");
    f.table.put(n, "", "node.machine_id", "af3" + std::to_string(n));
    for (int g = 0; g < 2; ++g) f.table.put(n, "gpu" + std::to_string(g), "gpu.uuid", "GPU-" + std::to_string(10 * n + 2 + g));
  }
  EXPECT_TRUE(identity_reasons(f.table, 5).empty()) << "a placeholder is no number";
  f.table.put(5, "", "node.machine_id", "af32");
  f.table.put(5, "gpu1", "gpu.uuid", "gpu-32");
  const auto both = identity_reasons(f.table, 5);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(worst(both), Fitness::unfit);
  EXPECT_NE(both[0].what.find("n2"), std::string::npos) << both[0].what;
  EXPECT_NE(both[1].what.find("n3"), std::string::npos) << "whichever of its GPUs: " << both[1].what;
}

TEST(Joining, ARecordingOfOtherGpusSaysNothingOfThese) {
  Fleet f;
  f.table.put(5, "", "gpu.count", "2");
  Accepted a{true, true, "n5", "8", 2, Time{days(999).ns}, "PASS"};
  a.each = {{"GPU-0002", "NVIDIA H200", "96.00.A5"}, {"GPU-0001", "NVIDIA H200", "96.00.A5"}};
  const Freshness now{Time{days(1000).ns}};
  const auto fitness = [&] { return worst(acceptance_reasons(f.table, 5, a, now)); };
  EXPECT_EQ(fitness(), Fitness::fit) << "where the facts do not say which GPUs there are";
  for (const char* g : {"1", "2"}) {
    f.table.put(5, std::string("gpu") + g, "gpu.uuid", std::string("gpu-000") + g);
    f.table.put(5, std::string("gpu") + g, "gpu.model", "NVIDIA H200");
    f.table.put(5, std::string("gpu") + g, "vbios.version", "96.00.a5");
  }
  EXPECT_EQ(fitness(), Fitness::fit) << "in whatever order";
  f.table.put(5, "gpu2", "vbios.version", "96.00.99");
  EXPECT_EQ(fitness(), Fitness::unknown) << "flashed since";
  f.table.put(5, "gpu2", "vbios.version", "96.00.A5");
  f.table.put(5, "gpu1", "gpu.model", "NVIDIA H100");
  EXPECT_EQ(fitness(), Fitness::unknown);
  f.table.put(5, "gpu1", "gpu.model", "NVIDIA H200");
  f.table.put(5, "gpu1", "gpu.uuid", "GPU-0003");
  EXPECT_EQ(fitness(), Fitness::unknown) << "one was replaced";
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
