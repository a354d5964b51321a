#include "detect/acceptance.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

AcceptFaultTold fault(AcceptFault kind, std::int16_t slot, const std::string& part, bool failed = true) {
  return {kind, slot, failed, part, "seen"};
}

class AcceptanceTold : public ::testing::Test {
 protected:
  void say(std::vector<std::int16_t> passed, std::vector<AcceptFaultTold> faults, NodeId n = kN1) {
    w.event(AcceptanceSaid{n, "quick", std::move(passed), std::move(faults)});
  }
  std::vector<const Finding*> open() const {
    std::vector<const Finding*> out;
    for (const auto& [id, f] : w.t.s.findings) {
      if (f.kind == FindingKind::acceptance_failed && f.cleared.ns == 0) out.push_back(&f);
    }
    return out;
  }
  Watch w;
};

TEST_F(AcceptanceTold, AFaultIsAFindingOfItsGpuByTheWordOfATest) {
  say({0, 1, 2, 4, 5, 6, 7}, {fault(AcceptFault::wrong_results, 3, "SMs: SM 17")});
  w.look();
  ASSERT_EQ(open().size(), 1U);
  const Finding& f = *open()[0];
  EXPECT_EQ(f.node, kN1);
  EXPECT_EQ(f.slot, 3);
  EXPECT_EQ(f.code, 1);
  EXPECT_EQ(f.subject, "SMs: SM 17");
  EXPECT_EQ(f.severity, Severity::critical);
  EXPECT_EQ(f.evidence.front().witness, Witness::test);
  EXPECT_EQ(f.evidence.front().text, "accept quick, SMs: SM 17: seen");
  EXPECT_TRUE(has_witness_beyond_log(f));
  EXPECT_FALSE(code_is_xid(f.kind));
}

TEST_F(AcceptanceTold, OnlyWhatSpoilsWorkIsCritical) {
  for (const AcceptFault k : {AcceptFault::link, AcceptFault::slow, AcceptFault::power, AcceptFault::not_run})
    say({}, {fault(k, 0, "part")});
  say({}, {fault(AcceptFault::memory, 1, "memory: corrected errors", false)});
  w.look();
  EXPECT_EQ(open().size(), 5U);
  for (const Finding* f : open()) EXPECT_EQ(f->severity, Severity::warning) << f->code;
}

TEST_F(AcceptanceTold, TheSameFaultInAnotherPlaceIsTheSameFinding) {
  say({}, {fault(AcceptFault::wrong_results, 3, "SMs: SM 17")});
  w.look();
  say({}, {fault(AcceptFault::wrong_results, 3, "SMs: SM 17, SM 18")});
  w.look();
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->subject, "SMs: SM 17");
  ASSERT_EQ(open()[0]->evidence.size(), 2U) << "each run of the tests says it anew";
  EXPECT_NE(open()[0]->evidence[1].text.find("SM 18"), std::string::npos);
  say({}, {fault(AcceptFault::slow, 3, "tensor cores: bf16 per MHz")});
  w.look();
  EXPECT_EQ(open().size(), 2U) << "another fault is another finding";
}

TEST_F(AcceptanceTold, ManyFiguresOfOneFaultAreOneFinding) {
  say({}, {fault(AcceptFault::slow, 3, "tensor cores: bf16"), fault(AcceptFault::slow, 3, "tensor cores: fp8"),
           fault(AcceptFault::slow, 4, "tensor cores: fp8")});
  w.look();
  ASSERT_EQ(open().size(), 2U);
  EXPECT_EQ(open()[0]->subject, "tensor cores: bf16");
  EXPECT_EQ(open()[0]->evidence.size(), 2U);
}

TEST_F(AcceptanceTold, ItIsOverWhenThatGpuPasses) {
  say({}, {fault(AcceptFault::slow, 3, "memory"), fault(AcceptFault::slow, 4, "memory")});
  w.look();
  say({3, 4}, {}, kN0);
  w.look();
  EXPECT_EQ(open().size(), 2U) << "another node's word";
  say({0, 1}, {});
  w.look();
  EXPECT_EQ(open().size(), 2U) << "those were not tested";
  say({3}, {fault(AcceptFault::not_run, 4, "GPU: in use")});
  w.look();
  ASSERT_EQ(open().size(), 2U) << "of a GPU that could not be tested nothing is over";
  for (const Finding* f : open()) EXPECT_EQ(f->slot, 4);
  say({4}, {});
  w.look();
  EXPECT_TRUE(open().empty());
}

TEST_F(AcceptanceTold, WhatCouldNotRunIsOverWhenItRan) {
  say({}, {fault(AcceptFault::not_run, 3, "GPU: in use")});
  w.look();
  say({}, {fault(AcceptFault::slow, 3, "memory")});
  w.look();
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->code, static_cast<std::int32_t>(AcceptFault::slow));
}

TEST_F(AcceptanceTold, ANodesOwnFaultIsOverWhenTheNextTestsDoNotTellIt) {
  say({0}, {fault(AcceptFault::not_run, -1, "the tests were cut off")});
  w.look();
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->slot, -1);
  say({0}, {});
  w.look();
  EXPECT_TRUE(open().empty());
}

TEST_F(AcceptanceTold, OfTwoWordsInOneTurnTheLaterCounts) {
  say({}, {fault(AcceptFault::memory, 3, "memory")});
  say({3}, {});
  w.look();
  EXPECT_TRUE(open().empty()) << "failed, then passed";
  say({}, {fault(AcceptFault::memory, 3, "memory")});
  w.look();
  say({3}, {});
  say({}, {fault(AcceptFault::memory, 3, "memory")});
  w.look();
  EXPECT_EQ(open().size(), 1U) << "passed, then failed";
}

TEST_F(AcceptanceTold, AnotherGpuInItsPlaceWasNotTested) {
  w.event(GpuIdentified{kN1, {3, "GPU-a", "1", "96", ""}});
  w.event(GpuIdentified{kN1, {4, "GPU-b", "2", "96", ""}});
  w.look();
  say({},
      {fault(AcceptFault::memory, 3, "memory"), fault(AcceptFault::memory, 4, "memory"), fault(AcceptFault::slow, 5, "memory")});
  w.look();
  w.event(GpuIdentified{kN1, {3, "GPU-a", "1", "97", ""}});
  w.look();
  EXPECT_EQ(open().size(), 3U) << "another firmware on the same GPU";
  w.event(GpuIdentified{kN1, {3, "GPU-c", "3", "96", ""}});
  w.look();
  EXPECT_EQ(open().size(), 2U);
  w.event(GpuSwapped{kN1, -1, {}});
  w.look();
  EXPECT_TRUE(open().empty());
}

TEST_F(AcceptanceTold, AControllerThatStartsAnewKnowsWhatStands) {
  say({}, {fault(AcceptFault::link, 3, "host link")});
  w.look();
  w.restart();
  say({}, {fault(AcceptFault::link, 3, "host link: 8 lanes")});
  w.look();
  EXPECT_EQ(open().size(), 1U);
  w.restart();
  say({3}, {});
  w.look();
  EXPECT_TRUE(open().empty());
}

TEST_F(AcceptanceTold, WhatTheSiteDoesNotHaveIsNobody) {
  say({}, {fault(AcceptFault::memory, 8, "memory"), fault(AcceptFault::none, 0, "")});
  say({}, {fault(AcceptFault::memory, 0, "memory")}, NodeId{99});
  w.look();
  EXPECT_TRUE(open().empty());
}

}  // namespace
}  // namespace muster::detect
