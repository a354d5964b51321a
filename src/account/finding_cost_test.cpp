#include "account/finding_cost.h"

#include <gtest/gtest.h>

#include "model/story.h"

namespace muster::account {
namespace {

constexpr std::int64_t kHour = 3'600'000;

Finding finding(FindingKind kind, NodeId node, std::int16_t slot, Time opened) {
  Finding f;
  f.id = FindingId{77};
  f.kind = kind;
  f.node = node;
  f.slot = slot;
  f.opened = opened;
  return f;
}

TEST(FindingCost, ALostGpuCostsItselfFromItsBeginningToItsEnd) {
  Story t(8);
  Finding f = finding(FindingKind::gpu_lost, NodeId{1}, 3, t.now().utc);
  f.since = f.opened - minutes(30);
  EXPECT_EQ(cost_of(t.s, f, f.opened + minutes(30)).gpu_ms, kHour);
  f.cleared = f.opened;
  EXPECT_EQ(cost_of(t.s, f, f.opened + hours(5)).gpu_ms, kHour / 2);
}

TEST(FindingCost, ASilentNodeCostsAllOfItsGpusAndMoneyWhereThereIsAPrice) {
  Policy p = default_policy();
  p.gpu_hour_price = 2.5;
  Story t(8, p);
  const Finding f = finding(FindingKind::node_silent, NodeId{1}, -1, t.now().utc);
  const FindingCost c = cost_of(t.s, f, f.opened + hours(2));
  EXPECT_EQ(c.gpu_ms, 16 * kHour);
  EXPECT_DOUBLE_EQ(c.money, 40);
}

TEST(FindingCost, ASlowGpuCostsAllGpusOfItsJobWhatTheyWaitForIt) {
  Story t(8);
  JobSpec spec;
  spec.nodes = 2;
  t.tell(JobSubmitted{JobId{1, 0}, spec});
  t.tell(JobStarted{JobId{1, 0}, 1, {NodeId{0}, NodeId{1}}, {}});
  Finding f = finding(FindingKind::slow_gpu, NodeId{1}, 3, t.now().utc);
  f.job = JobId{1, 0};
  f.loss_pct = 25;
  EXPECT_EQ(cost_of(t.s, f, f.opened + hours(1)).gpu_ms, 4 * kHour);
}

TEST(FindingCost, AnOverheatedGpuCostsItsGangWhatIsBookedAsSlow) {
  Story t(8);
  const JobId gang = t.running({NodeId{0}, NodeId{1}});
  t.pass(minutes(60));
  t.tell(JobProgressed{gang, 1, {100, 100, 0, 0, 15 * 60'000, 1}});
  EXPECT_TRUE(slow_shares(t.s).empty()) << "nothing is found that slows it";
  const FindingId id = t.find(FindingKind::thermal_throttle, NodeId{1}, 3);
  ASSERT_EQ(slow_shares(t.s).size(), 1u);
  EXPECT_DOUBLE_EQ(slow_shares(t.s).at(gang), 0.25);
  const Finding& f = t.s.findings.at(id);
  EXPECT_EQ(cost_of(t.s, f, f.opened + hours(1)).gpu_ms, 4 * kHour) << "a quarter of 16 GPUs, not of one";
}

TEST(FindingCost, WhatOnlyWarnsCostsNothing) {
  Story t(8);
  for (const FindingKind k : {FindingKind::failure_predicted, FindingKind::app_error, FindingKind::hearsay})
    EXPECT_EQ(cost_of(t.s, finding(k, NodeId{1}, 3, t.now().utc), t.now().utc + hours(9)).gpu_ms, 0);
}

TEST(FindingCost, ACommonCauseCostsWhatItsFindingsCostEachNodeOnce) {
  Story t(8);
  Finding cause = finding(FindingKind::common_cause, {}, -1, t.now().utc);
  cause.evidence = {{Witness::scrape, t.now().utc, {}, "x"}};
  t.tell(FindingOpened{cause});
  std::uint64_t id = 100;
  for (std::uint32_t n = 0; n < 2; ++n) {
    for (std::int16_t slot = -1; slot < 2; ++slot) {
      Finding f = finding(slot < 0 ? FindingKind::node_silent : FindingKind::link_down, NodeId{n}, slot, t.now().utc);
      f.id = FindingId{id++};
      f.part_of = cause.id;
      f.evidence = cause.evidence;
      t.tell(FindingOpened{f});
    }
  }
  EXPECT_EQ(cost_of(t.s, cause, cause.opened + hours(1)).gpu_ms, 16 * kHour);
}

}  // namespace
}  // namespace muster::account
