#include "trial/soak.h"

#include <gtest/gtest.h>

#include <set>

#include "trial/controlled.h"

namespace muster::trial {
namespace {

SoakOptions options() {
  SoakOptions o;
  o.run.twin = stormy(1);
  o.run.policy = o.run.must_hold = roomy_policy();
  o.run.length = days(1);
  o.seeds = 6;
  o.faults_floor = 100;
  o.make_journal = [] { return std::make_unique<KeptJournal>(); };
  return o;
}

TEST(Soak, AFewSeedsOfStormHaveNoViolation) {
  const auto r = soak(options());
  ASSERT_TRUE(r) << r.error().what;
  for (const SoakViolation& v : r->violations) ADD_FAILURE() << "seed " << v.seed << ": " << v.what;
  EXPECT_EQ(r->runs, 6U);
  EXPECT_FALSE(r->is_void) << r->faults << " faults";
  EXPECT_EQ(r->false_alarms, 0U);
}

TEST(Soak, IsVoidWithoutFaults) {
  SoakOptions o = options();
  o.run.twin.weather.factor = 0;
  o.run.length = hours(1);
  o.seeds = 1;
  const auto r = soak(o);
  ASSERT_TRUE(r) << r.error().what;
  EXPECT_TRUE(r->is_void);
}

TEST(Soak, ThreadsChangeNothing) {
  SoakOptions o = options();
  o.seeds = 3;
  o.run.length = hours(6);
  const auto one = soak(o);
  o.threads = 3;
  const auto three = soak(o);
  ASSERT_TRUE(one);
  ASSERT_TRUE(three);
  EXPECT_EQ(one->events, three->events);
  EXPECT_EQ(one->actions, three->actions);
}

TEST(Soak, HoldsAControllerToThePolicyThatMustHoldWhateverItWasTold) {
  SoakOptions o = options();
  o.seeds = 2;
  o.run.must_hold.limits.out_cluster_pct = 0;
  o.run.must_hold.limits.out_cluster_floor = 0;
  const auto r = soak(o);
  ASSERT_TRUE(r);
  ASSERT_FALSE(r->violations.empty());
  EXPECT_NE(r->violations[0].what.find("budget: "), std::string::npos) << r->violations[0].what;
}

TEST(Soak, CountsWhatIsBrokenByRuleBeyondTheFewItTells) {
  SoakOptions o = options();
  o.seeds = 1;
  o.run.must_hold.limits.harm_per_hour_pct = 0;
  o.run.must_hold.limits.harm_per_hour_floor = 0;
  const auto r = soak(o);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->violations.size(), 20U);
  EXPECT_GT(r->broken[static_cast<std::size_t>(Rule::budget)], 20U);
  EXPECT_EQ(r->broken[static_cast<std::size_t>(Rule::live_job)], 0U);
  EXPECT_EQ(r->broken[static_cast<std::size_t>(Rule::unfinished)], 0U);
}

TEST(Soak, WhatAPolicyDoesNotActOnIsInAPersonsHands) {
  SoakOptions o = options();
  o.seeds = 2;
  const auto usual = soak(o);
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->left_to_people, 0U) << "the shipped runbooks leave nothing";
  for (Runbook& r : o.run.policy.runbooks) {
    if (r.kind == FindingKind::thermal_throttle || r.kind == FindingKind::pcie_degraded) r.act = false;
  }
  const auto less = soak(o);
  ASSERT_TRUE(less);
  EXPECT_GT(less->left_to_people, 0U);
  EXPECT_EQ(less->broken[static_cast<std::size_t>(Rule::unfinished)], 0U);
}

TEST(Soak, WhatIsFoundInAGroupInShadowIsInAPersonsHands) {
  SoakOptions o = options();
  o.seeds = 2;
  o.run.policy.groups = {{"new", o.run.twin.site.nodes[0].name + "," + o.run.twin.site.nodes[1].name, true, {}}};
  const auto r = soak(o);
  ASSERT_TRUE(r);
  EXPECT_GT(r->left_to_people, 0U);
  EXPECT_EQ(r->broken[static_cast<std::size_t>(Rule::unfinished)], 0U);
}

TEST(Soak, TellsOfEachSeedAsItEnds) {
  SoakOptions o = options();
  o.seeds = 3;
  o.run.length = hours(2);
  std::set<std::uint64_t> seeds;
  std::uint64_t events = 0;
  o.on_seed = [&](const RunReport& r) {
    seeds.insert(r.seed);
    events += r.events;
  };
  const auto r = soak(o);
  ASSERT_TRUE(r);
  EXPECT_EQ(seeds, (std::set<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(events, r->events);
}

TEST(Soak, FalseDrainsAreJudgedByWhatTheNodeDaysCanShow) {
  using Verdict = FalseDrains::Verdict;
  EXPECT_EQ(judge_false_drains(0, 200'000).verdict, Verdict::held);
  EXPECT_EQ(judge_false_drains(12, 200'000).verdict, Verdict::held);
  EXPECT_EQ(judge_false_drains(13, 200'000).verdict, Verdict::open) << "the rate could be 1.03";
  EXPECT_EQ(judge_false_drains(28, 200'000).verdict, Verdict::open);
  EXPECT_EQ(judge_false_drains(29, 200'000).verdict, Verdict::broken);
  EXPECT_EQ(judge_false_drains(0, 20'000).verdict, Verdict::open) << "so few node-days show nothing";
  EXPECT_EQ(judge_false_drains(0, 0).verdict, Verdict::open);
  const FalseDrains f = judge_false_drains(3, 200'000);
  EXPECT_NEAR(f.rate, 0.15, 1e-9);
  EXPECT_NEAR(f.low, 0.0409, 1e-4);
  EXPECT_NEAR(f.high, 0.3877, 1e-4);
}

}  // namespace
}  // namespace muster::trial
