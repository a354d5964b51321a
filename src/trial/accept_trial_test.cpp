#include "trial/accept_trial.h"

#include <gtest/gtest.h>

#include <cmath>

#include "accept/judge.h"
#include "accept/plan.h"
#include "ingest/json.h"
#include "trial/accept_trial_view.h"

namespace muster::trial {
namespace {

AcceptTrialOptions small() {
  AcceptTrialOptions o;
  o.gpus = 256;
  o.runs = 8;
  o.planted = 64;
  o.costs.drawn = 4000;
  return o;
}

// Made once: it is a second's work.
const AcceptTrial& tried() {
  static const AcceptTrial t = try_acceptance(small());
  return t;
}

double found(const RuleTried& r, SlowPart part, double size) {
  for (const SlowFound& s : r.slow) {
    for (std::size_t k = 0; k < kSlowSizes.size(); ++k) {
      if (s.part == part && kSlowSizes[k] == size) return s.by_size[k].share();
    }
  }
  ADD_FAILURE() << "no such fault was planted";
  return 0;
}

const LieTried& lie(Lie kind, double chance = 0) {
  for (const LieTried& l : tried().lies) {
    if (l.planted.lie == kind && l.planted.chance == chance) return l;
  }
  ADD_FAILURE() << "no such lie was planted";
  return tried().lies.front();
}

TEST(AcceptFleet, ARecordingIsWholeAndTheSameEachTime) {
  const AcceptFleet fleet(7);
  for (const AcceptProfile profile : {AcceptProfile::quick, AcceptProfile::accept}) {
    const Acceptance a = fleet.record({0, 3, 1}, profile), again = fleet.record({0, 3, 1}, profile);
    const Acceptance other = fleet.record({0, 3, 2}, profile);
    ASSERT_EQ(a.measured.size(), again.measured.size());
    for (std::size_t i = 0; i < a.measured.size(); ++i) EXPECT_EQ(a.measured[i].value, again.measured[i].value);
    const auto read = [](const Acceptance& x) { return accept::figures_of(x, 0).value.at("hbm_read"); };
    EXPECT_NE(read(a), read(other)) << "another run of the same card";
    EXPECT_NEAR(read(a), read(other), 0.01 * read(a));
    EXPECT_EQ(a.gpus[2].uuid, other.gpus[2].uuid);
    const accept::Judgement j = accept::judge(a, accept::Limits({}));
    EXPECT_EQ(j.verdict, accept::Verdict::pass) << (j.troubles().empty() ? "" : j.troubles()[0]->what);
  }
}

TEST(AcceptFleet, EveryFigureThatIsJudgedIsInIt) {
  const Acceptance a = AcceptFleet(7).record({0, 0, 0}, AcceptProfile::quick);
  const accept::Figures f = accept::figures_of(a, 0);
  for (const accept::Metric& m : accept::metrics()) {
    if (m.judged == accept::Judged::no || m.test == AcceptTest::nccl) continue;
    EXPECT_NE(f.value.find(m.name), nullptr) << m.name;
  }
}

TEST(AcceptFleet, CardsDifferByWhatIsAsked) {
  const AcceptFleet fleet(7);
  std::vector<double> unit, clock;
  for (std::uint32_t n = 0; n < 128; ++n) {
    for (const accept::Figures& f : accept::figures_of(fleet.record({0, n, 0}, AcceptProfile::quick))) {
      unit.push_back(f.value.at("bf16_per_mhz"));
      clock.push_back(f.value.at("mhz_at_cap"));
    }
  }
  const accept::Spread u = accept::spread_of(unit), c = accept::spread_of(clock);
  EXPECT_NEAR(u.sigma / u.median, std::hypot(0.003, 0.0019), 0.0004);
  EXPECT_NEAR(c.sigma / c.median, 0.0175, 0.002);
}

TEST(AcceptTrial, HealthyGpusPassAndThreePercentIsFound) {
  const RuleTried& ours = tried().rules[0];
  EXPECT_EQ(ours.runs, 256U * 8);
  EXPECT_EQ(ours.failures, 0U);
  for (const SlowPart part : {SlowPart::unit, SlowPart::memory}) {
    for (const double size : {0.03, 0.05, 0.08, 0.15, 0.33}) EXPECT_GE(found(ours, part, size), 0.99) << name_of(part) << size;
    EXPECT_LT(found(ours, part, 0.01), 0.5) << "healthy cards differ by as much: whoever finds it fails them too";
  }
  EXPECT_LT(found(ours, SlowPart::clock, 0.03), 0.1) << "healthy clocks differ by more";
  EXPECT_EQ(found(ours, SlowPart::clock, 0.33), 1);
}

TEST(AcceptTrial, RulesOnRawRatesFindLessOrFailTheHealthy) {
  const auto& rules = tried().rules;
  ASSERT_EQ(rules.size(), 6U);
  const RuleTried &reference = rules[3], &of_median = rules[4], &spreads = rules[5];
  EXPECT_EQ(found(reference, SlowPart::unit, 0.15), 0);
  EXPECT_EQ(found(reference, SlowPart::memory, 0.15), 0);
  EXPECT_EQ(found(reference, SlowPart::unit, 0.33), 1);
  EXPECT_GT(of_median.failures, 0U);
  EXPECT_LT(found(of_median, SlowPart::unit, 0.03), 0.3);
  EXPECT_LT(found(spreads, SlowPart::unit, 0.05), 0.2);
}

TEST(AcceptTrial, WhatLiesAlwaysIsFoundAndWhatSeldomLiesByLongerTests) {
  for (const Lie always : {Lie::repeating, Lie::sm}) EXPECT_EQ(lie(always).quick.share(), 1);
  EXPECT_GE(lie(Lie::address).quick.share(), 0.95) << "but for memory that nobody can allocate";
  EXPECT_EQ(lie(Lie::repeating).first_result, false);
  // 6.6e11 outputs are verified in five times three seconds.
  EXPECT_NEAR(lie(Lie::output, 1e-12).quick.share(), 1 - std::exp(-0.66), 0.15);
  EXPECT_GT(lie(Lie::output, 1e-12).accept.share(), 0.95);
  EXPECT_GT(lie(Lie::sm_at_times, 1e-2).accept.share(), lie(Lie::sm_at_times, 1e-2).quick.share());
  EXPECT_EQ(lie(Lie::corrected, 30'000).quick.share(), 1);
}

TEST(AcceptTrial, TheSameSeedGivesTheSameTrialAndAnotherAnother) {
  AcceptTrialOptions o = small();
  o.gpus = 64;
  o.runs = 1;
  o.planted = 16;
  o.costs.drawn = 200;
  const std::string one = accept_trial_json(try_acceptance(o));
  EXPECT_EQ(one, accept_trial_json(try_acceptance(o)));
  o.seed = 2;
  EXPECT_NE(one, accept_trial_json(try_acceptance(o)));
}

TEST(AcceptCosts, MoreTestsCostMoreAndLetLessPass) {
  const AcceptCosts c;
  const std::vector<FaultClass> classes = {{false, 0.03, {1, 1}}, {true, 0, {0.5, 0.9}}};
  const auto policies = usual_policies();
  const PolicyCost none = cost_of(policies[0], classes, c), month = cost_of(policies[2], classes, c);
  const PolicyCost week = cost_of(policies[3], classes, c);
  EXPECT_EQ(none.tested_gpu_h, 0);
  EXPECT_EQ(none.caught, 0);
  // 1,024 GPUs for a year, 3 % of 70 % of 256 of them, for a year each.
  EXPECT_NEAR(none.slow_gpu_h, c.slow_per_gpu_h * 1024 * 8760 * 0.03 * 0.7 * 256 * 8760, 1);
  EXPECT_GT(week.tested_gpu_h, 3 * month.tested_gpu_h);
  EXPECT_LT(week.slow_gpu_h, 0.5 * month.slow_gpu_h);
  EXPECT_LT(week.lying_gpu_h, month.lying_gpu_h);
  EXPECT_GT(week.caught, month.caught);
}

TEST(AcceptCosts, AFaultThatEveryTestFindsGoesOnForHalfAnInterval) {
  AcceptCosts c;
  c.slow_known_h = c.horizon_h;
  const TestPolicy weekly{"weekly", false, AcceptProfile::quick, 168};
  const PolicyCost p = cost_of(weekly, {{false, 0.1, {1, 1}}}, c);
  EXPECT_NEAR(p.slow_gpu_h / (c.slow_per_gpu_h * 1024 * 8760 * 0.1 * 0.7 * 256), 84, 2);
  EXPECT_EQ(p.caught, 1);
}

TEST(AcceptCosts, TheCheapestWayTestsMoreOftenWhereFaultsCostMore) {
  AcceptCosts c;
  c.drawn = 4000;
  const std::vector<FaultClass> classes = {{false, 0.05, {1, 1}}, {true, 0, {0.5, 0.9}}};
  const BestPolicy little = best_policy(classes, c, 0.01), much = best_policy(classes, c, 100);
  EXPECT_GT(little.cost.policy.every_h, much.cost.policy.every_h);
  EXPECT_GT(much.cost.tested_gpu_h, little.cost.tested_gpu_h);
}

TEST(AcceptTrialView, SaysWhatWasFoundAndWhatIsAssumed) {
  const std::string text = render_accept_trial(tried());
  for (const char* words : {"256 GPUs give the limits", "0 of 2048 healthy GPUs fail", "DCGM", "one SM, always", "never finds it",
                            "quick at each return", "Assumed:"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  const auto v = parse_json(accept_trial_json(tried()));
  ASSERT_TRUE(v) << v.error().what;
  EXPECT_EQ(v->find("rules")->array()->size(), 6U);
}

}  // namespace
}  // namespace muster::trial
