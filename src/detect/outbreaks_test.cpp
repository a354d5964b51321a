#include "detect/outbreaks.h"

#include <gtest/gtest.h>

#include "detect/watch.h"
#include "model/whole_site.h"

namespace muster::detect {
namespace {

// 64 nodes: racks of four, leaves of four, pods of two leaves.
class CommonCause : public ::testing::Test {
 protected:
  void lose_links(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t n = first; n <= last; ++n) w.record(NodeId{n}, 0, KernelKind::link_down);
  }
  void pass(Duration d) {
    for (Duration t{}; t < d; t = t + seconds(20)) {
      w.everybody_reports();
      w.look(seconds(20));
    }
  }
  std::size_t members(FindingId cause) const {
    std::size_t n = 0;
    for (const auto& [id, f] : w.t.s.findings) n += f.part_of == cause ? 1 : 0;
    return n;
  }
  Watch w{64};
};

TEST_F(CommonCause, ASwitchIsOneFindingToWhichThoseOfTheNodesPoint) {
  lose_links(8, 11);
  pass(minutes(4));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_FALSE(f->node.some());
  EXPECT_EQ(f->subject, "leaf switch 2");
  EXPECT_EQ(members(f->id), 4U);
  EXPECT_GE(f->code, 90) << "how sure, in percent";
  EXPECT_NE(f->evidence.front().text.find("link_down on 4 of 4 nodes: n[8-11]"), std::string::npos) << f->evidence.front().text;
  EXPECT_LE(f->began(), f->opened);
}

// Where cables are known. Each of eight rails has a switch for 16 nodes: "g0r3" is that of NIC 3 of the first 16.
class CommonSwitch : public CommonCause {
 protected:
  CommonSwitch() {
    CableTable t;
    for (std::uint32_t i = 0; i < 32; ++i) t.switches.push_back("g" + std::to_string(i / 8) + "r" + std::to_string(i % 8));
    for (std::uint32_t n = 0; n < 64; ++n) {
      for (std::uint32_t slot = 0; slot < 8; ++slot) {
        t.nics.push_back(n * 16 + slot);
        t.far_ends.push_back(n / 16 * 8 + slot);
        t.ports.push_back(std::to_string(n % 16));
        t.labels.emplace_back();
      }
    }
    Cabling c;
    c.set(std::move(t));
    w.t.tell(CablesDeclared{c});
    w.restart();
  }
};

TEST_F(CommonSwitch, IsNamedWhenTheLinksToItGoDown) {
  for (const std::uint32_t n : {1U, 4U, 6U, 9U, 12U, 15U}) w.record(NodeId{n}, 3, KernelKind::link_down);
  pass(minutes(4));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject, "switch g0r3");
  EXPECT_EQ(members(f->id), 6U);
  EXPECT_NE(f->evidence.front().text.find("link_down on 6 of 16 nodes"), std::string::npos) << f->evidence.front().text;
}

TEST_F(CommonSwitch, IsNotBlamedWhenAllLinksOfTheNodesAreDown) {
  for (std::uint32_t n = 8; n <= 11; ++n) {
    for (std::int16_t slot = 0; slot < 8; ++slot) w.record(NodeId{n}, slot, KernelKind::link_down);
  }
  pass(minutes(4));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject, "leaf switch 2");
  EXPECT_EQ(members(f->id), 32U);
}

TEST_F(CommonSwitch, LaterLinksOfItJoinAndOthersDoNot) {
  for (const std::uint32_t n : {1U, 4U, 6U, 9U, 12U}) w.record(NodeId{n}, 3, KernelKind::link_down);
  pass(minutes(3));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  const FindingId cause = f->id;
  w.record(NodeId{14}, 3, KernelKind::link_down);
  w.record(NodeId{13}, 4, KernelKind::link_down);
  pass(minutes(3));
  EXPECT_EQ(members(cause), 6U);
}

TEST_F(CommonCause, WithoutAnEngineAProgramsErrorsAreNobodysElse) {
  for (std::uint32_t n = 8; n <= 11; ++n) w.xid(NodeId{n}, 0, 31);
  pass(minutes(4));
  EXPECT_NE(w.open(FindingKind::app_error), nullptr);
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(CommonCause, ItIsOverWithItsLastMember) {
  lose_links(8, 11);
  pass(minutes(4));
  ASSERT_NE(w.open(FindingKind::common_cause), nullptr);
  for (std::uint32_t n = 8; n <= 10; ++n) w.record(NodeId{n}, 0, KernelKind::link_up);
  pass(minutes(1));
  EXPECT_NE(w.open(FindingKind::common_cause), nullptr);
  w.record(NodeId{11}, 0, KernelKind::link_up);
  pass(minutes(1));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(CommonCause, ItIsOverWhenNearlyAllAreWellAndTheRestIsSeenAfresh) {
  lose_links(8, 11);
  pass(minutes(4));
  for (std::uint32_t n = 8; n <= 10; ++n) w.record(NodeId{n}, 0, KernelKind::link_up);
  pass(minutes(8));
  EXPECT_NE(w.open(FindingKind::common_cause), nullptr);
  pass(minutes(5));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
  const Finding* left = w.open(FindingKind::link_down);
  ASSERT_NE(left, nullptr);
  EXPECT_NE(left->evidence.back().text.find("still so"), std::string::npos);
}

TEST_F(CommonCause, ACauseThatNobodyMendsIsNoReasonToLeaveItsNodesAloneForEver) {
  lose_links(8, 11);
  pass(hours(7));
  EXPECT_NE(w.open(FindingKind::common_cause), nullptr);
  pass(hours(2));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(CommonCause, MembersThatEndWithTheirIncidentsEndItToo) {
  lose_links(8, 11);
  pass(minutes(4));
  std::vector<FindingId> members;
  for (const auto& [id, f] : w.t.s.findings) {
    if (f.kind == FindingKind::link_down) members.push_back(id);
  }
  for (const FindingId id : members) w.t.tell(FindingCleared{id, "repaired"});
  pass(minutes(3));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(CommonCause, AControllerThatStartsAnewStillEndsIt) {
  lose_links(8, 11);
  pass(minutes(4));
  w.restart();
  for (std::uint32_t n = 8; n <= 11; ++n) w.record(NodeId{n}, 0, KernelKind::link_up);
  pass(minutes(1));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(CommonCause, LateOnesJoinAndAWiderCauseTakesOver) {
  lose_links(8, 11);
  pass(minutes(3));
  ASSERT_NE(w.open(FindingKind::common_cause), nullptr);
  lose_links(12, 15);  // the other leaf of the pod
  pass(minutes(4));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject.substr(0, 5), "pod 1") << f->subject;
  EXPECT_EQ(members(f->id), 8U);
}

// A driver comes onto every third node, an hour after the controller began to listen, and hangs GPUs there one by one.
class Push : public CommonCause {
 protected:
  Push() {
    for (std::uint32_t n = 0; n < 64; ++n) w.sample(NodeId{n}, -1, Field::driver_version, 58'015'904);
    pass(hours(1));
    for (std::uint32_t n = 0; n < 64; n += 3) w.sample(NodeId{n}, -1, Field::driver_version, 58'018'107);
    pass(minutes(2));
  }
  void hang(std::initializer_list<std::uint32_t> nodes) {
    for (const std::uint32_t n : nodes) w.xid(NodeId{n}, 1, 119);
    pass(minutes(1));
  }
  std::size_t causes() const {
    std::size_t n = 0;
    for (const auto& [id, f] : w.t.s.findings) n += f.kind == FindingKind::common_cause ? 1 : 0;
    return n;
  }
};

TEST_F(Push, WhatChangedLastIsNamedByItsFirstThreeNodes) {
  hang({3, 9, 30});
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject.rfind("driver ", 0), 0U) << f->subject;
  EXPECT_TRUE(explains(*f));
  hang({33, 42, 60});
  EXPECT_EQ(causes(), 1U);
  EXPECT_EQ(members(f->id), 6U);
}

TEST_F(Push, WhatAVersionDoesLaterIsItsDoingToo) {
  hang({3, 9, 30});
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  pass(minutes(40));
  hang({45});
  EXPECT_EQ(members(f->id), 4U);
  hang({46});
  EXPECT_EQ(members(f->id), 4U) << "that node does not run it";
}

TEST_F(Push, NodesThatGoSilentWhileItIsMendedAreItsToo) {
  hang({3, 9, 30});
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  for (Duration t{}; t < minutes(8); t = t + seconds(20)) {
    for (std::uint32_t n = 0; n < 64; ++n) {
      if (n != 9 && n != 10) w.sample(NodeId{n}, -1, Field::up, 1);
    }
    w.look(seconds(20));
  }
  for (const auto& [id, x] : w.t.s.findings) {
    if (x.kind != FindingKind::node_silent) continue;
    EXPECT_EQ(x.part_of == f->id, x.node == NodeId{9}) << x.node.v;
  }
  EXPECT_NE(w.open(FindingKind::node_silent), nullptr);
}

TEST_F(Push, ThreeNodesOfNothingInCommonWaitForMoreBeforeTheSiteIsBlamed) {
  hang({1, 9, 23});
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
  pass(minutes(7));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr) << "but not for ever";
  EXPECT_FALSE(explains(*f));
}

TEST_F(Push, ACauseWithoutANameGivesWayToOneWithAName) {
  hang({1, 9, 23, 33, 42, 48});
  const Finding* site = w.open(FindingKind::common_cause);
  ASSERT_NE(site, nullptr);
  ASSERT_FALSE(explains(*site)) << site->subject;
  hang({3, 6, 12, 15, 18, 21, 24, 27, 30, 36, 39, 45});
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject.rfind("driver ", 0), 0U) << f->subject;
}

TEST_F(CommonCause, WhatNearlyAllNodesHaveIsTheSitesAndExplainsThemAll) {
  for (std::uint32_t n = 0; n < 60; ++n) w.record(NodeId{n}, 0, KernelKind::link_down);
  pass(minutes(4));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject, kWholeSiteSubject);
  EXPECT_TRUE(explains(*f));
  EXPECT_EQ(members(f->id), 60U);
  EXPECT_TRUE(placeable(w.t.s, NodeId{3})) << "there is nowhere else to start";
}

TEST_F(CommonCause, NodesWithNothingInCommonAreNone) {
  for (const std::uint32_t n : {3U, 22U}) w.record(NodeId{n}, 0, KernelKind::link_down);
  pass(minutes(30));
  w.record(NodeId{47}, 0, KernelKind::link_down);
  pass(minutes(4));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(CommonCause, SeveralPortsOfOneNodeAreOneNode) {
  for (std::int16_t slot = 0; slot < 8; ++slot) w.record(NodeId{9}, slot, KernelKind::link_down);
  pass(minutes(4));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(CommonCause, TheSameMountOnManyNodesIsTheStores) {
  for (std::uint32_t n = 0; n < 40; ++n) w.event(AgentSaid{NodeId{n}, AgentWord::mount_stalled, "/lustre", 0, "no answer"});
  pass(minutes(2));
  const Finding* f = w.open(FindingKind::storage_stall);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject, "/lustre");
  EXPECT_EQ(members(f->id), 40U);
  for (std::uint32_t n = 0; n < 40; ++n) w.event(AgentSaid{NodeId{n}, AgentWord::mount_back, "/lustre", 0, "answers"});
  pass(minutes(1));
  EXPECT_EQ(w.open(FindingKind::storage_stall), nullptr);
}

TEST_F(CommonCause, TheSameNodesShowingAnotherTroubleIsNoSecondCause) {
  lose_links(8, 11);
  pass(minutes(4));
  for (std::uint32_t n = 8; n <= 11; ++n) w.sample(NodeId{n}, 0, Field::ib_integrity_errors_total, 0);
  pass(minutes(1));
  for (std::uint32_t n = 8; n <= 11; ++n) w.sample(NodeId{n}, 0, Field::ib_integrity_errors_total, 5);
  pass(minutes(2));
  std::size_t causes = 0;
  for (const auto& [id, f] : w.t.s.findings) causes += f.kind == FindingKind::common_cause ? 1 : 0;
  EXPECT_EQ(causes, 1U);
}

}  // namespace
}  // namespace muster::detect
