#include "detect/links.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

Watch quiet() { return Watch(2); }

void hear(Watch& w, Duration later) {
  w.everybody_reports();
  w.look(later);
}

TEST(Links, DownForAMomentIsAFlapAndOnlyThat) {
  Watch w = quiet();
  w.record(kN0, 3, KernelKind::link_down);
  hear(w, seconds(1));
  EXPECT_EQ(w.findings(), 0U) << "it may come back";
  w.record(kN0, 3, KernelKind::link_up);
  hear(w, seconds(60));
  ASSERT_NE(w.open(FindingKind::link_flap), nullptr);
  EXPECT_EQ(w.open(FindingKind::link_flap)->severity, Severity::info);
  hear(w, minutes(2));
  EXPECT_EQ(w.open(FindingKind::link_down), nullptr);
}

TEST(Links, DownForLongerIsADeadLinkUntilItIsUpAgain) {
  Watch w = quiet();
  w.record(kN0, 3, KernelKind::link_down);
  hear(w, seconds(1));
  EXPECT_EQ(w.detectors.next(w.t.s), w.t.s.mono() + minutes(2)) << "it has to be looked at then";
  hear(w, minutes(2));
  const Finding* f = w.open(FindingKind::link_down);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::critical);
  EXPECT_FALSE(has_witness_beyond_log(*f));
  w.sample(kN0, 3, Field::ib_up, 0);
  hear(w, seconds(10));
  EXPECT_TRUE(has_witness_beyond_log(*w.open(FindingKind::link_down))) << "the port says so too";
  w.record(kN0, 3, KernelKind::link_up);
  hear(w, seconds(10));
  EXPECT_EQ(w.open(FindingKind::link_down), nullptr);
  EXPECT_EQ(w.open(FindingKind::link_flap), nullptr);
}

TEST(Links, APortThatReportsItselfDownIsABetterWitnessThanTheLog) {
  Watch w = quiet();
  w.record(kN0, 3, KernelKind::link_down);
  w.sample(kN0, 3, Field::ib_up, 0);
  hear(w, seconds(1));
  hear(w, minutes(2));
  ASSERT_NE(w.open(FindingKind::link_down), nullptr);
  EXPECT_TRUE(has_witness_beyond_log(*w.open(FindingKind::link_down)));
}

TEST(Links, TheLinksOfANodeThatMusterRebootsMayBeDown) {
  Watch w = quiet();
  const IncidentId i = w.t.open(w.t.find(FindingKind::gpu_lost, kN0, 1));
  w.t.drained(kN0, i);
  w.t.order(Verb::reboot_node, kN0, i);
  w.record(kN0, 3, KernelKind::link_down);
  hear(w, seconds(1));
  for (int k = 0; k < 10; ++k) hear(w, minutes(1));
  EXPECT_EQ(w.open(FindingKind::link_down), nullptr);
}

TEST(Links, ALinkThatComesUpAfterARestartOfTheControllerIsSeenToo) {
  Watch w = quiet();
  w.record(kN0, 3, KernelKind::link_down);
  hear(w, seconds(1));
  hear(w, minutes(2));
  w.restart();
  w.sample(kN0, 3, Field::ib_up, 1);
  hear(w, seconds(1));
  EXPECT_EQ(w.open(FindingKind::link_down), nullptr);
}

TEST(Links, UpWithoutDownIsNothing) {
  Watch w = quiet();
  w.record(kN0, 3, KernelKind::link_up);
  w.sample(kN0, 2, Field::ib_up, 1);
  hear(w, seconds(1));
  EXPECT_EQ(w.findings(), 0U);
}

}  // namespace
}  // namespace muster::detect
