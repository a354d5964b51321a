#include "detect/outbreaks.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

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
