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

TEST(Judge, AFleetOfWhichHalfIsSlowDoesNotExcuseItself) {
  std::vector<Acceptance> fleet = sample_fleet(8);
  for (std::size_t n = 4; n < 8; ++n) {
    for (std::int32_t g = 0; g < 8; ++g) scale(fleet[n], g, "hbm_read", 0.7);
  }
  const Limits limits(fleet);
  Acceptance a = fleet[0];
  EXPECT_TRUE(judge(a, limits).provisional) << "what is usual cannot be told from it";
  scale(a, 3, "hbm_read", 0.5);
  EXPECT_EQ(judge(a, limits).gpus[3].verdict, Verdict::fail) << said(judge(a, limits));
}

TEST(Judge, WhatDecaysLittleByLittleIsHeldAgainstHowItBegan) {
  std::vector<Acceptance> runs;
  for (int week = 0; week < 25; ++week) {
    Acceptance a = sample_node(1, 8, 0);
    a.host.begun = a.host.begun + hours(168 * week);
    for (std::int32_t g = 0; g < 8; ++g) scale(a, g, "hbm_read", 1 - 0.01 * week);
    runs.push_back(std::move(a));
  }
  EXPECT_EQ(judge(runs.back(), Limits(runs)).verdict, Verdict::degraded) << said(judge(runs.back(), Limits(runs)));
}

TEST(Judge, WhereNoFleetIsKnownTheOtherGpusOfTheNodeAreAskedWhatIsUsual) {
  Acceptance a = fresh();
  scale(a, 3, "hbm_read", 0.95);
  EXPECT_EQ(judge(a, Limits({})).gpus[3].verdict, Verdict::degraded);
  EXPECT_EQ(judge(fresh(), Limits({})).verdict, Verdict::pass);
}

TEST(Judge, AGpuThatWasThereBeforeIsMissed) {
  const std::vector<Acceptance> before = {sample_node(1, 8, 0)};
  Acceptance a = before[0];
  a.host.begun = a.host.begun + hours(24);
  std::erase_if(a.gpus, [](const Gpu& g) { return g.gpu == 3; });
  std::erase_if(a.measured, [](const Measured& m) { return m.gpu == 3; });
  const Judgement j = judge(a, Limits(before));
  EXPECT_EQ(j.verdict, Verdict::could_not_run);
  EXPECT_NE(said(j).find("the node had 8 GPUs, and 7 were tested"), std::string::npos) << said(j);
  a.suite.gpus = 8;
  EXPECT_EQ(judge(a, Limits({})).verdict, Verdict::could_not_run) << "eight were asked for";
}

TEST(Judge, ATestThatHungIsNotUndoneByOneThatRan) {
  for (const bool first : {false, true}) {
    Acceptance a = fresh();
    for (Ran& r : a.ran) {
      if (first && r.gpu == 3 && r.test == AcceptTest::gemm_bf16) r.state = TestState::hung;
    }
    a.ran.push_back({3, AcceptTest::gemm_bf16, first ? 0U : 1U, first ? TestState::done : TestState::hung, "", 40, 1});
    EXPECT_EQ(judge(a, healthy()).verdict, Verdict::fail) << first;
  }
}

TEST(Judge, ACounterThatVanishesOrFallsIsNoPass) {
  for (const auto& [name, before, after] : {std::tuple("remap_failure", 0.0, -1.0), std::tuple("ecc_uncorrected", 1e6, 0.0)}) {
    Acceptance a = fresh();
    for (Counter& c : a.counters) {
      if (c.gpu == 3 && c.name == name) c = {3, name, before, after};
    }
    EXPECT_EQ(judge(a, healthy()).verdict, Verdict::could_not_run) << name;
  }
}

TEST(Judge, FiguresThatCannotBeAreNoPass) {
  const std::pair<const char*, double> cases[] = {
      {"gemm_bf16_verified", 1}, {"march_share", 150}, {"sweep_sms", 150}, {"sweep_tensor", 0.5}};
  for (const auto& [metric, value] : cases) {
    Acceptance a = fresh();
    for (Measured& m : a.measured) {
      if (m.gpu == 3 && m.metric == metric) m.value = value;
    }
    EXPECT_EQ(judge(a, healthy()).verdict, Verdict::could_not_run) << metric;
  }
}

TEST(Judge, WhatIsNotKnownIsNotSlow) {
  Acceptance a = fresh();
  for (Measured& m : a.measured) {
    if (m.metric == "link_gen") m.value = -1;
  }
  const Judgement j = judge(a, healthy());
  EXPECT_EQ(j.verdict, Verdict::could_not_run) << said(j);
}

TEST(Judge, RecordingsThatWerePutTogetherAreNoPass) {
  Acceptance a = fresh();
  a.gpus.push_back(a.gpus[2]);
  EXPECT_EQ(judge(a, healthy()).verdict, Verdict::could_not_run);
}

TEST(Judge, NoGpuOfARecordingThatWasCutOffPasses) {
  Acceptance a = fresh();
  a.end.clear();
  for (const GpuVerdict& g : judge(a, healthy()).gpus) EXPECT_EQ(g.verdict, Verdict::could_not_run);
}

TEST(Judge, LessPowerThanItsSiblingsAndAClockHeldDownByTheHardwareDegrade) {
  Acceptance a = fresh();
  a.gpus[3].power_limit_w = 200;
  EXPECT_EQ(judge(a, healthy()).gpus[3].verdict, Verdict::degraded);
  a = fresh();
  a.measured.push_back({5, AcceptTest::sustained, 0, "slowed_pct", 12, 0, 0, -1});
  EXPECT_EQ(judge(a, healthy()).gpus[5].verdict, Verdict::degraded);
}

TEST(Judge, BoardsOfAnotherNumberAndOtherAlgorithmsAreAnotherKind) {
  Acceptance a = fresh();
  for (Gpu& g : a.gpus) g.part = "692-2G520-0282-001";
  EXPECT_EQ(judge(a, healthy()).unjudged.size(), 8U);
  const Cohort before = cohort_of(a, a.gpus[0]);
  a.measured.push_back({0, AcceptTest::gemm_bf16, 0, "gemm_bf16_algorithm", 21, 0, 0, -1});
  EXPECT_NE(cohort_of(a, a.gpus[0]), before);
}

TEST(Judge, LimitsAreNotMadeOfGpusThatGaveWrongResultsNorOfRunsThatWereCutOff) {
  std::vector<Acceptance> fleet = sample_fleet(8);
  for (Acceptance& a : fleet) {
    for (const Gpu& g : a.gpus) a.wrong.push_back({g.gpu, AcceptTest::sweep, 0, "SM 1", 1, ""});
  }
  EXPECT_EQ(Limits(fleet).gpus(cohort_of(fleet[0], fleet[0].gpus[0])), 0U);
  fleet = sample_fleet(8);
  for (Acceptance& a : fleet) a.end.clear();
  EXPECT_EQ(Limits(fleet).gpus(cohort_of(fleet[0], fleet[0].gpus[0])), 0U);
}

TEST(Judge, TheSlowSmIsNamed) {
  Acceptance a = fresh();
  for (Measured& m : a.measured) {
    if (m.gpu == 4 && m.test == AcceptTest::sweep && m.metric == "sweep_fp64") m.value = 1.08;
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
  const Limits shipped({}, {{"NVIDIA H200", "", "", "hbm_read", 4690, 0.003, 2, "two cards"}});
  Acceptance a = fresh();
  EXPECT_EQ(judge(a, shipped).verdict, Verdict::pass);
  scale(a, 0, "hbm_read", 0.85);
  const Judgement j = judge(a, shipped);
  EXPECT_EQ(j.gpus[0].verdict, Verdict::fail) << said(j);
  EXPECT_TRUE(j.provisional);
}

TEST(Judge, WhatShipsIsOfOneBoardAndOfOneChoiceOfAlgorithms) {
  Acceptance a = fresh();
  const Limits other_board({}, {{"NVIDIA H200", "692-0", "", "hbm_read", 9999, 0, 4, "x"}});
  const Limits other_algorithms({}, {{"NVIDIA H200", "", "98d4", "bf16_per_mhz", 9999, 0, 4, "x"}});
  const Limits both({}, {{"NVIDIA H200", "", "", "hbm_read", 9999, 0, 4, "x"},
                         {"NVIDIA H200", a.gpus[0].part, "", "hbm_read", 4693, 0, 4, "of this board"}});
  EXPECT_EQ(judge(a, other_board).verdict, Verdict::pass);
  EXPECT_EQ(judge(a, other_algorithms).verdict, Verdict::pass);
  EXPECT_EQ(judge(a, both).verdict, Verdict::pass);
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
