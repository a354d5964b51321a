#include "trial/upgrade_trial.h"

#include <gtest/gtest.h>

#include "trial/controlled.h"

namespace muster::trial {
namespace {

UpgradeTrialOptions small(bool bad) {
  UpgradeTrialOptions o;
  o.twin = stormy(1, 0);
  o.twin.workload.load = 0.9;
  o.policy = default_policy();
  o.spec.version = "590.44.01";
  o.spec.before = "580.159.04";
  o.spec.watch = minutes(40);
  o.spec.at_once_pct = 10;
  o.seeds = 3;
  o.warm_up = hours(2);
  if (bad) o.twin.bad_driver = o.spec.version;
  o.make_journal = [] { return std::make_unique<KeptJournal>(); };
  return o;
}

TEST(UpgradeTrial, EveryNodeGetsItWithinTheBudgetsWhileWorkGoesOn) {
  const auto runs = upgrade_trial(small(false));
  ASSERT_TRUE(runs) << runs.error().what;
  for (const UpgradeRun& r : *runs) {
    EXPECT_EQ(r.phase, UpgradePhase::done) << r.seed << ": " << r.why;
    EXPECT_EQ(r.nodes, 24U) << r.seed;
    EXPECT_LE(r.took_h, 24) << r.seed;
    EXPECT_GT(r.useful_h, 0.85 * r.useful_without_h) << r.seed;
    EXPECT_TRUE(r.violations.empty()) << r.seed << ": " << r.violations.front();
  }
}

TEST(UpgradeTrial, AVersionThatHangsGpusReachesTheCanariesOnlyAndIsTakenBack) {
  const auto runs = upgrade_trial(small(true));
  ASSERT_TRUE(runs) << runs.error().what;
  for (const UpgradeRun& r : *runs) {
    EXPECT_EQ(r.phase, UpgradePhase::rolled_back) << r.seed << ": " << r.why;
    EXPECT_LE(r.reached, 3U) << r.seed;
    EXPECT_EQ(r.nodes, 0U) << r.seed;
    EXPECT_TRUE(r.violations.empty()) << r.seed << ": " << r.violations.front();
  }
}

UpgradeTrialOptions waiting() {
  UpgradeTrialOptions o = small(false);
  o.spec.wait_for_jobs = o.spec.measured = true;
  o.spec.apart = "all ranks of a job need the same NCCL";
  o.spec.parts = {{"driver", o.spec.version, o.spec.before}, {"fabricmanager", o.spec.version, o.spec.before}};
  o.spec.canaries = 2;
  o.spec.canary_nodes = o.twin.site.nodes[3].name + "," + o.twin.site.nodes[11].name + "," + o.twin.site.nodes[17].name + "," +
                        o.twin.site.nodes[20].name;
  o.spec.finish_in = days(5);
  o.spec.at_once_pct = 12.5;
  o.beside = false;
  o.most = days(7);
  o.seeds = 4;
  return o;
}

void expect_unharmed(const UpgradeRun& r) {
  EXPECT_EQ(r.killed, 0U) << r.seed;
  EXPECT_EQ(r.moves, 0U) << r.seed;
  EXPECT_EQ(r.mixed, 0U) << r.seed;
  EXPECT_LE(r.most_away, r.budget) << r.seed;
  EXPECT_EQ(r.beyond_budget, 0U) << r.seed;
  EXPECT_TRUE(r.violations.empty()) << r.seed << ": " << r.violations.front();
}

TEST(UpgradeTrial, WhoeverWaitsForJobsStopsNoneMixesNoVersionsAndIsNotMuchSlowerThanCanBe) {
  const auto runs = upgrade_trial(waiting());
  ASSERT_TRUE(runs) << runs.error().what;
  for (const UpgradeRun& r : *runs) {
    EXPECT_EQ(r.phase, UpgradePhase::done) << r.seed << ": " << r.why;
    EXPECT_EQ(r.nodes, 24U) << r.seed;
    EXPECT_GT(r.bound_h, 0) << r.seed;
    expect_unharmed(r);
  }
}

// 64 nodes, eight to an NVLink domain and two of these to a leaf, with gangs of many sizes.
UpgradeTrialOptions in_domains() {
  UpgradeTrialOptions o = waiting();
  Site& site = o.twin.site;
  while (site.nodes.size() < 64) {
    NodeSpec n;
    n.name = "node" + std::to_string(site.nodes.size() + 1);
    site.nodes.push_back(n);
  }
  site.racks = {"r1", "r2", "r3", "r4"};
  for (std::uint32_t n = 0; n < 64; ++n) {
    site.nodes[n].rack = site.nodes[n].leaf = n / 16;
    site.nodes[n].pod = 0;
    site.nodes[n].domain = n / 8;
  }
  site.leaves = 4;
  site.domains = 8;
  site.storage_write_gbs = 128;
  o.twin.workload.mix = "mixed";
  o.twin.workload.load = 1.15;
  o.spec.apart = "an NVLink domain runs one version of IMEX";
  o.spec.apart_within = ApartWithin::domain;
  o.seeds = 2;
  return o;
}

TEST(UpgradeTrial, WhereOnlyDomainsMustBeOfOneVersionNoStartMixesOneAndJobsSpanDomainsOfBoth) {
  std::uint32_t of_both = 0;
  for (const bool waits : {true, false}) {
    UpgradeTrialOptions o = in_domains();
    o.spec.wait_for_jobs = o.spec.measured = waits;
    if (!waits) o.spec.finish_in = hours(48);
    const auto runs = upgrade_trial(o);
    ASSERT_TRUE(runs) << runs.error().what;
    for (const UpgradeRun& r : *runs) {
      EXPECT_EQ(r.phase, UpgradePhase::done) << r.seed << ": " << r.why;
      EXPECT_EQ(r.nodes, 64U) << r.seed;
      EXPECT_EQ(r.mixed, 0U) << r.seed;
      EXPECT_TRUE(r.violations.empty()) << r.seed << ": " << r.violations.front();
      if (waits) expect_unharmed(r);
      of_both += r.of_both;
    }
  }
  EXPECT_GT(of_both, 0U) << "whole jobs were kept apart: nothing was gained";
}

TEST(UpgradeTrial, NodesThatDoNotComeUpNeverTakeTheFleetBelowItsBudget) {
  for (const double share : {1.0, 0.5}) {
    UpgradeTrialOptions o = waiting();
    o.twin.broken_version = o.spec.version;
    o.twin.broken_share = share;
    const auto runs = upgrade_trial(o);
    ASSERT_TRUE(runs) << runs.error().what;
    for (const UpgradeRun& r : *runs) {
      EXPECT_EQ(r.phase, UpgradePhase::rolled_back) << r.seed << ": " << r.why;
      EXPECT_EQ(r.nodes, 0U) << r.seed;
      expect_unharmed(r);
    }
  }
}

TEST(UpgradeTrial, AVersionThatIsSlowerIsTakenBackThoughEveryTestPasses) {
  UpgradeTrialOptions o = waiting();
  o.twin.slow_version = o.spec.version;
  o.twin.slow_by = 0.06;
  o.seeds = 2;
  const auto runs = upgrade_trial(o);
  ASSERT_TRUE(runs) << runs.error().what;
  for (const UpgradeRun& r : *runs) {
    EXPECT_EQ(r.phase, UpgradePhase::rolled_back) << r.seed << ": " << r.why;
    EXPECT_NE(r.why.find("slower"), std::string::npos) << r.why;
    expect_unharmed(r);
  }
}

}  // namespace
}  // namespace muster::trial
