#include "trial/fleet_trial.h"

#include <gtest/gtest.h>

#include "ingest/fact_book.h"
#include "trial/fleet_made.h"

namespace muster::trial {
namespace {

FleetTrialOptions small(const std::string& what) {
  FleetTrialOptions o;
  o.what = what;
  o.fleets = 5;
  o.innocent = 40;
  o.cpu_s = [] { return 0.0; };
  return o;
}

TEST(fleet_trial, drift_is_found_and_a_clean_fleet_has_none) {
  const FleetTrial drift = try_fleets(small("drift"), fact_book()), clean = try_fleets(small("clean"), fact_book());
  ASSERT_EQ(drift.drift.size(), 1u);
  EXPECT_GE(drift.drift[0].share(), 0.99) << drift.drift[0].found << " of " << drift.drift[0].seeded;
  EXPECT_EQ(drift.drift[0].alarms, 0u);
  ASSERT_EQ(clean.clean.size(), 1u);
  EXPECT_EQ(clean.clean[0].alarms, 0u);
}

TEST(fleet_trial, where_nothing_is_to_blame_the_usual_ways_blame_and_the_test_does_not) {
  const FleetTrial t = try_fleets(small("innocent"), fact_book());
  ASSERT_EQ(t.innocent.size(), 1u);
  EXPECT_LE(t.innocent[0].wrong, 3u);
  EXPECT_GE(t.innocent[0].baseline[1], 36u);
}

TEST(fleet_trial, the_same_seed_gives_the_same_fleet) {
  const MadeFleet a = make_fleet({}, 7), b = make_fleet({}, 7), c = make_fleet({}, 8);
  EXPECT_EQ(a.performance.values, b.performance.values);
  EXPECT_NE(a.performance.values, c.performance.values);
  ASSERT_EQ(a.causes.size(), 1u);
  EXPECT_GE(a.affected[0], 13u);
}

TEST(fleet_trial, so_few_fleets_prove_nothing) {
  EXPECT_NEAR(at_most_of(0, 1), 0.95, 1e-6);
  EXPECT_NEAR(at_most_of(0, 300), 0.00994, 1e-5) << "three in as many";
  EXPECT_NEAR(at_most_of(3, 1000), 0.00773, 1e-5);
  EXPECT_EQ(at_most_of(2, 2), 1);
  FleetTrialOptions o;
  o.what = "innocent";
  o.innocent = 1;
  const FleetTrial told = try_fleets(o, fact_book());
  ASSERT_EQ(told.bounds.size(), 1u);
  EXPECT_FALSE(told.bounds[0].enough);
  EXPECT_NE(render_fleet_trial(told).find("too few: "), std::string::npos);
}

}  // namespace
}  // namespace muster::trial
