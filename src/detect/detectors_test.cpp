#include "detect/detectors.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

TEST(Merging, AFloodOfSignsIsOneFindingAndAFewEvents) {
  Watch w;
  std::size_t events = 0;
  for (int i = 0; i < 1000; ++i) {
    w.xid(kN0, 1, 74);
    w.everybody_reports();
    events += w.look().size();
  }
  EXPECT_EQ(w.findings(), 1U);
  EXPECT_LE(events, 11U) << "one, and one for each doubling";
}

TEST(Merging, ASecondWitnessIsAlwaysWorthAnEvent) {
  Watch w;
  for (int i = 0; i < 3; ++i) w.xid(kN0, 1, 79);
  w.look();
  EXPECT_FALSE(has_witness_beyond_log(*w.open(FindingKind::gpu_lost)));
  w.sample(kN0, -1, Field::gpus_visible, 0xfd);
  const auto said = w.look();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<FindingGrew>(said[0]));
  EXPECT_TRUE(has_witness_beyond_log(*w.open(FindingKind::gpu_lost)));
}

TEST(Merging, SeveralSignsOfOneTurnBecomeOneFinding) {
  Watch w;
  w.xid(kN0, 1, 79);
  w.record(kN0, 1, KernelKind::off_bus);
  w.sample(kN0, -1, Field::gpus_visible, 0xfd);
  w.look();
  EXPECT_EQ(w.findings(), 1U);
}

TEST(Merging, TheSameFaultAfterItsEndIsANewFinding) {
  Watch w;
  w.xid(kN0, 1, 79);
  w.look();
  const FindingId first = w.open(FindingKind::gpu_lost)->id;
  w.t.tell(IncidentClosed{w.t.open(first), "fixed"});
  w.xid(kN0, 1, 79);
  w.look(seconds(10));  // within five seconds it would be the same event
  ASSERT_NE(w.open(FindingKind::gpu_lost), nullptr);
  EXPECT_NE(w.open(FindingKind::gpu_lost)->id, first);
}

TEST(Merging, ARestartedControllerGoesOnWithTheOpenFindings) {
  Watch w;
  w.xid(kN0, 1, 79);
  w.look();
  w.restart();
  w.xid(kN0, 1, 79);
  w.look();
  EXPECT_EQ(w.findings(), 1U);
}

TEST(Merging, AProgramsErrorAndAFlapEndByThemselves) {
  Watch w;
  w.xid(kN0, 1, 31);
  w.look();
  EXPECT_NE(w.open(FindingKind::app_error), nullptr);
  const Time due = w.detectors.next(w.t.s);
  EXPECT_NE(due, kNever);
  for (int i = 0; i < 31; ++i) {
    w.everybody_reports();
    w.look(minutes(1));
  }
  EXPECT_EQ(w.open(FindingKind::app_error), nullptr);
}

TEST(Merging, EvidenceNamesItsRecord) {
  Watch w;
  w.kernel.push_back({w.t.now().utc, kN0, 1, KernelKind::xid, 79, 0x9f3c, 120, "NVRM: Xid"});
  w.look();
  const Finding* f = w.open(FindingKind::gpu_lost);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->evidence[0].ref, "kmsg:9f3c/120");
  EXPECT_EQ(f->evidence[0].text, "NVRM: Xid");
}

}  // namespace
}  // namespace muster::detect
