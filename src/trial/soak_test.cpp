#include "trial/soak.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster::trial
