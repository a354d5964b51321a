#include <gtest/gtest.h>

#include "model/story.h"

namespace muster {
namespace {

// Three nodes with lost links, explained by a leaf.
class Explained : public ::testing::Test {
 protected:
  Explained() {
    for (std::uint32_t n = 0; n < 3; ++n) links.push_back(t.find(FindingKind::link_down, NodeId{n}, 0));
    Finding f;
    f.id = cause = FindingId{t.s.next_finding};
    f.kind = FindingKind::common_cause;
    f.subject = "leaf switch 0";
    f.opened = t.now().utc;
    f.evidence = {{Witness::scrape, t.now().utc, {}, "three of three"}};
    t.tell(FindingOpened{f});
    for (const FindingId id : links) t.tell(FindingGrew{id, Severity::critical, {}, cause});
  }
  Story t;
  std::vector<FindingId> links;
  FindingId cause;
};

TEST_F(Explained, NodesOfAnOpenCauseTakeNoWorkAndAreFreeWhenItIsOver) {
  EXPECT_FALSE(placeable(t.s, NodeId{0}));
  EXPECT_TRUE(placeable(t.s, NodeId{5}));
  settle(t.s);
  t.tell(FindingCleared{cause, "over"});
  EXPECT_TRUE(t.s.explained.empty());
  EXPECT_EQ(t.s.new_findings.size(), 3U) << "what is still wrong is looked at by itself";
  EXPECT_TRUE(placeable(t.s, NodeId{0})) << "until then nothing but the finding speaks against it";
}

TEST_F(Explained, WhatBecomesPartOfACauseThatExplainsNothingIsLookedAtByItself) {
  settle(t.s);
  Finding site;
  site.id = FindingId{t.s.next_finding};
  site.kind = FindingKind::common_cause;
  site.subject = kSiteSubject;
  site.opened = t.now().utc;
  t.tell(FindingOpened{site});
  for (const FindingId id : links) t.tell(FindingGrew{id, Severity::critical, {}, site.id});
  t.tell(FindingCleared{cause, "part of a wider cause"});
  EXPECT_TRUE(t.s.explained.empty());
  for (const FindingId id : links) EXPECT_EQ(t.s.new_findings.count(id), 1U) << "or no incident would ever have it";
}

TEST_F(Explained, AnIncidentThatClosesAsPartOfItLeavesTheFindingOpen) {
  const IncidentId i = t.open(links[0]);
  EXPECT_NE(cause_of(t.s, *find_incident(t.s, i)), nullptr);
  t.tell(IncidentClosed{i, "part of a common cause"});
  EXPECT_EQ(find_finding(t.s, links[0])->cleared.ns, 0);
  EXPECT_FALSE(placeable(t.s, NodeId{0}));
}

TEST_F(Explained, WhatIsDerivedIsTheSameAfterARefresh) {
  const auto explained = t.s.explained;
  const auto kinds = t.s.open_kinds;
  refresh(t.s);
  EXPECT_EQ(t.s.explained, explained);
  EXPECT_EQ(t.s.open_kinds, kinds);
}

TEST(Frozen, AFreezeStandsUntilItsEndIsSaid) {
  Story t;
  t.tell(CauseFrozen{FindingKind::gpu_lost, t.s.mono() + minutes(30), "many"});
  t.pass(hours(1));
  EXPECT_EQ(t.s.frozen.count(FindingKind::gpu_lost), 1U);
  t.tell(CauseFrozen{FindingKind::gpu_lost, t.s.mono(), "over"});
  EXPECT_TRUE(t.s.frozen.empty());
}

TEST(ClockJump, EvidenceIsAsOldAsItIsWhateverTheClockWasSetTo) {
  Story t;
  const Time seen = t.now().utc;
  t.set_clock(days(1));
  t.pass(minutes(1));
  EXPECT_EQ(t.s.utc_jump.ns, days(1).ns);
  EXPECT_EQ(evidence_age(t.s, seen).ns, minutes(1).ns);
  EXPECT_EQ(evidence_age(t.s, t.now().utc - minutes(2)).ns, minutes(2).ns) << "measured by the clock that was set";
  t.set_clock(Duration{-days(1).ns});
  t.pass(minutes(1));
  EXPECT_EQ(t.s.utc_jump.ns, 0) << "it is back";
  t.set_clock(minutes(2));
  t.pass(minutes(1));
  EXPECT_EQ(t.s.utc_jump.ns, 0) << "an ordinary correction";
}

}  // namespace
}  // namespace muster
