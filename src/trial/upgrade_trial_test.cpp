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

}  // namespace
}  // namespace muster::trial
