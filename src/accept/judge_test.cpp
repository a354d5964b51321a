#include "accept/judge.h"

#include <gtest/gtest.h>

#include "accept/counters.h"
#include "accept/sample.h"

namespace muster::accept {
namespace {

using namespace accepting;

std::vector<Acceptance> fleet_of_nodes(std::uint32_t nodes) {
  std::vector<Acceptance> out;
  for (std::uint32_t i = 1; i <= nodes; ++i) out.push_back(sample_node(i, 8, 0));
  return out;
}

// Limits of a healthy fleet, made once: most tests ask for nothing else.
const Limits& healthy() {
  static const Limits limits(fleet_of_nodes(16));
  return limits;
}

Acceptance fresh() { return sample_node(99, 8, 0); }

std::string said(const Judgement& j) {
  std::string out;
  for (const Trouble* t : j.troubles()) out += std::string(name_of(t->verdict)) + ": " + t->what + " (" + t->evidence + ")\n";
  return out;
}

void scale(Acceptance& a, std::int32_t gpu, std::string_view metric, double by) {
  for (Measured& m : a.measured) {
    if (m.gpu == gpu && m.metric == metric) m.value *= by;
  }
}

TEST(Judge, AHealthyNodePasses) {
  const Judgement j = judge(fresh(), healthy());
  EXPECT_EQ(j.verdict, Verdict::pass) << said(j);
  EXPECT_FALSE(j.provisional);
  EXPECT_TRUE(j.notes.empty()) << j.notes.front();
}

TEST(Judge, HealthyNodesPassWhateverTheirLuck) {
  for (std::uint32_t i = 200; i < 400; ++i) {
    const Judgement j = judge(sample_node(i, 8, 0), healthy());
    EXPECT_EQ(j.verdict, Verdict::pass) << i << ": " << said(j);
  }
}

TEST(Judge, OneWrongResultIsAFailureAndItsPlaceIsNamed) {
  Acceptance a = fresh();
  a.wrong.push_back({3, AcceptTest::sweep, 0, "SM 17", 1, "unit fp32: 0x2 instead of 0x1"});
  const Judgement j = judge(a, healthy());
  EXPECT_EQ(j.verdict, Verdict::fail);
  ASSERT_EQ(j.troubles().size(), 1U) << said(j);
  const Trouble& t = *j.troubles()[0];
  EXPECT_EQ(t.gpu, 3);
  EXPECT_EQ(t.kind, Class::wrong_results);
  EXPECT_EQ(t.part, Part::sms);
  EXPECT_NE(t.what.find("SM 17"), std::string::npos);
  EXPECT_FALSE(t.next.empty());
}

TEST(Judge, AWrongByteOfMemoryIsOfTheMemory) {
  Acceptance a = fresh();
  a.wrong.push_back({0, AcceptTest::march_hot, 0, "address 0x1f00000040", 1, "one bit"});
  const Judgement j = judge(a, healthy());
  EXPECT_EQ(j.troubles().at(0)->kind, Class::memory);
  EXPECT_EQ(j.gpus[0].verdict, Verdict::fail);
  EXPECT_EQ(j.gpus[1].verdict, Verdict::pass) << "the others are not to blame";
}

TEST(Judge, AGpuThatIsThreePercentSlowIsFound) {
  for (const char* metric : {"gemm_bf16", "gemm_fp8", "sustained_bf16", "hbm_read", "hbm_write"}) {
    Acceptance a = fresh();
    scale(a, 5, metric, 0.97);
    const Judgement j = judge(a, healthy());
    EXPECT_EQ(j.verdict, Verdict::degraded) << metric << "\n" << said(j);
    EXPECT_EQ(j.gpus[5].verdict, Verdict::degraded) << metric;
    EXPECT_EQ(worth_repeating(a, healthy()).size(), 1U) << metric;
  }
}

TEST(Judge, AGpuThatIsATenthSlowFails) {
  Acceptance a = fresh();
  scale(a, 5, "hbm_read", 0.85);
  EXPECT_EQ(judge(a, healthy()).verdict, Verdict::fail);
}

TEST(Judge, ALowClockAtThePowerLimitIsAMatterOfPowerAndNotOfTheUnit) {
  Acceptance a = fresh();
  for (Measured& m : a.measured) {
    if (m.gpu == 2 && m.mhz > 0) {
      m.mhz *= 0.8;
      m.value *= 0.8;
    }
  }
  const Judgement j = judge(a, healthy());
  ASSERT_FALSE(j.troubles().empty());
  for (const Trouble* t : j.troubles()) {
    EXPECT_EQ(t->metric, "mhz_at_cap") << t->what;
    EXPECT_EQ(t->kind, Class::power);
  }
}

TEST(Judge, TheBetterOfTwoTurnsCounts) {
  Acceptance a = fresh();
  scale(a, 1, "hbm_read", 0.95);
  EXPECT_EQ(judge(a, healthy()).verdict, Verdict::degraded);
  a.ran.push_back({1, AcceptTest::hbm, 1, TestState::done, "", 40, 1});
  a.measured.push_back({1, AcceptTest::hbm, 1, "hbm_read", 4693, 0, 0, -1});
  EXPECT_EQ(judge(a, healthy()).verdict, Verdict::pass) << "it was a passing disturbance";
}

TEST(Judge, TheSlowSmIsNamed) {
  Acceptance a = fresh();
  for (Measured& m : a.measured) {
    if (m.gpu == 4 && m.metric == "sweep_fp64") m.value = 1.08;
  }
  a.measured.push_back({4, AcceptTest::sweep, 0, "sweep_fp64_slowest", 77, 0, 0, -1});
  const Judgement j = judge(a, healthy());
  ASSERT_EQ(j.troubles().size(), 1U);
  EXPECT_NE(j.troubles()[0]->what.find("SM 77"), std::string::npos) << j.troubles()[0]->what;
}

TEST(Judge, EveryCounterThatMayNotGrowIsLookedAt) {
  for (const CounterRule& rule : counter_rules()) {
    Acceptance a = fresh();
    std::erase_if(a.counters, [&](const Counter& c) { return c.gpu == 6 && c.name == rule.name; });
    const bool grows = rule.growth >= 0;
    a.counters.push_back({6, std::string(rule.name), grows ? 7.0 : 0.0, grows ? 7.0 + rule.growth + 1 : rule.after + 1});
    const Judgement j = judge(a, healthy());
    EXPECT_EQ(j.verdict, rule.verdict) << rule.name;
    EXPECT_EQ(j.gpus[6].verdict, rule.verdict) << rule.name;
    a.counters.back() = {6, std::string(rule.name), grows ? 7.0 : 0.0, grows ? 7.0 : 0.0};
    EXPECT_EQ(judge(a, healthy()).verdict, Verdict::pass) << rule.name << " stands still";
  }
}

TEST(Judge, ACounterThatWasSetBackIsNotTakenForQuiet) {
  Acceptance a = fresh();
  std::erase_if(a.counters, [](const Counter& c) { return c.gpu == 0 && c.name == "ecc_uncorrected"; });
  a.counters.push_back({0, "ecc_uncorrected", 9, 2});
  EXPECT_EQ(judge(a, healthy()).verdict, Verdict::fail);
}

TEST(Judge, AnXidDuringTheTestsIsAFailure) {
  Acceptance a = fresh();
  a.kernel.push_back({2, 48, 12, "NVRM: Xid (PCI:0000:38:00): 48"});
  EXPECT_EQ(judge(a, healthy()).gpus[2].verdict, Verdict::fail);
  a.kernel[0].gpu = -1;
  EXPECT_EQ(judge(a, healthy()).verdict, Verdict::fail) << "of no GPU that is known: the node's";
}

TEST(Judge, ALinkBelowWhatTheCardCanDoFails) {
  for (const char* metric : {"link_gen", "link_width"}) {
    Acceptance a = fresh();
    scale(a, 1, metric, 0.5);
    const Judgement j = judge(a, healthy());
    EXPECT_EQ(j.gpus[1].verdict, Verdict::fail);
    EXPECT_EQ(j.troubles().at(0)->kind, Class::link);
  }
}

TEST(Judge, FewerSmsThanTheOthersIsAFailure) {
  Acceptance a = fresh();
  a.gpus[7].sms = 130;
  for (Measured& m : a.measured) {
    if (m.gpu == 7 && m.metric == "sweep_sms") m.value = 130;
  }
  EXPECT_EQ(judge(a, healthy()).gpus[7].verdict, Verdict::fail);
}

TEST(Judge, AHungTestIsAFailureAndNotAnOmission) {
  Acceptance a = fresh();
  a.ran[3].state = TestState::hung;
  EXPECT_EQ(judge(a, healthy()).verdict, Verdict::fail);
}

TEST(Judge, NobodyKnowsHowFastAnUnknownGpuShouldBe) {
  const Limits none({});
  const Judgement j = judge(fresh(), none);
  EXPECT_EQ(j.verdict, Verdict::pass);
  EXPECT_TRUE(j.provisional);
  EXPECT_FALSE(j.notes.empty());
}

TEST(Judge, WhatShipsIsUsedWhileTheFleetIsSmallAndIsProvisional) {
  const Limits shipped({}, {{"NVIDIA H200", "hbm_read", 4690, 0.003, 2, "two cards"}});
  Acceptance a = fresh();
  EXPECT_EQ(judge(a, shipped).verdict, Verdict::pass);
  scale(a, 0, "hbm_read", 0.85);
  const Judgement j = judge(a, shipped);
  EXPECT_EQ(j.gpus[0].verdict, Verdict::fail) << said(j);
  EXPECT_TRUE(j.provisional);
}

TEST(Judge, AGpuThatWasFasterBeforeIsDegradedThoughTheFleetAllowsIt) {
  std::vector<Acceptance> past = fleet_of_nodes(16);
  for (std::uint32_t run = 0; run < 12; ++run) {
    Acceptance a = fresh();
    for (Measured& m : a.measured) {
      if (m.gpu == 0 && m.metric == "hbm_write") m.value = 4700;
    }
    a.host.begun = a.host.begun - seconds(100 - run);
    past.push_back(a);
  }
  Acceptance now = fresh();
  for (Measured& m : now.measured) {
    if (m.gpu == 0 && m.metric == "hbm_write") m.value = 4700 * 0.965;
  }
  const Limits limits(past);
  const Judgement j = judge(now, limits);
  EXPECT_EQ(j.gpus[0].verdict, Verdict::degraded);
}

// ---------------------------------------------------------------- no pass by omission

struct Mutation {
  std::string what;
  Acceptance a;
};

std::vector<Mutation> mutations() {
  std::vector<Mutation> out;
  const Acceptance whole = fresh();
  const auto add = [&](std::string what, const auto& change) {
    Mutation m{std::move(what), whole};
    change(m.a);
    out.push_back(std::move(m));
  };
  for (std::size_t i = 0; i < whole.ran.size(); ++i) {
    const std::string test(name_of(whole.ran[i].test));
    add(test + " removed", [&](Acceptance& a) { a.ran.erase(a.ran.begin() + static_cast<std::ptrdiff_t>(i)); });
    for (const TestState s : {TestState::could_not_run, TestState::stopped, TestState::hung, TestState::not_applicable})
      add(test + " " + std::string(name_of(s)), [&](Acceptance& a) { a.ran[i].state = s; });
  }
  for (std::size_t i = 0; i < whole.measured.size(); ++i) {
    const Metric* m = find_metric(whole.measured[i].metric);
    const bool hot = whole.measured[i].test == AcceptTest::march_hot || whole.measured[i].test == AcceptTest::sweep_hot;
    const Metric* needed = hot ? find_metric(whole.measured[i].metric + "_hot") : m;
    if (needed == nullptr || !needed->needed) continue;
    add(whole.measured[i].metric + " removed",
        [&](Acceptance& a) { a.measured.erase(a.measured.begin() + static_cast<std::ptrdiff_t>(i)); });
    add(whole.measured[i].metric + " zero", [&](Acceptance& a) { a.measured[i].value = 0; });
  }
  for (std::size_t i = 0; i < whole.counters.size(); ++i) {
    if (whole.counters[i].name != "ecc_uncorrected") continue;
    add("ECC not told", [&](Acceptance& a) { a.counters[i].after = -1; });
    add("ECC removed", [&](Acceptance& a) { a.counters.erase(a.counters.begin() + static_cast<std::ptrdiff_t>(i)); });
  }
  add("no clock", [](Acceptance& a) {
    for (Measured& m : a.measured) m.mhz = -1;
  });
  add("cut off", [](Acceptance& a) { a.end.clear(); });
  add("stopped", [](Acceptance& a) { a.end[0].stopped = true; });
  add("a process left", [](Acceptance& a) { a.end[0].left = 1; });
  add("no GPU", [](Acceptance& a) { a.gpus.clear(); });
  add("nothing ran", [](Acceptance& a) { a.ran.clear(); });
  add("nothing measured", [](Acceptance& a) { a.measured.clear(); });
  add("another suite", [](Acceptance& a) { a.suite.version = "0"; });
  add("another plan", [](Acceptance& a) { a.suite.hash = "0"; });
  add("asks for nothing and ran nothing", [](Acceptance& a) {
    a.suite.tests.clear();
    a.ran.clear();
  });
  add("half of the memory", [](Acceptance& a) {
    for (Measured& m : a.measured) {
      if (m.metric == "march_share") m.value = 50;
    }
  });
  add("an SM was not reached", [](Acceptance& a) {
    for (Measured& m : a.measured) {
      if (m.metric == "sweep_sms" && m.gpu == 3) m.value = 131;
    }
  });
  return out;
}

TEST(Judge, WhatIsRemovedOrBrokenIsNeverAPass) {
  const auto all = mutations();
  ASSERT_GT(all.size(), 800U);
  for (const Mutation& m : all) {
    const Judgement j = judge(m.a, healthy());
    EXPECT_GE(j.verdict, Verdict::could_not_run) << m.what;
  }
}

TEST(Judge, OneGpuHasNoPeersAndPasses) {
  const Judgement j = judge(sample_node(7, 1, 0), healthy());
  EXPECT_EQ(j.verdict, Verdict::pass) << said(j);
}

}  // namespace
}  // namespace muster::accept
