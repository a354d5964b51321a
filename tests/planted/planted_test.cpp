// A defect is planted: a guard that always says yes. The soak must find it, and the seed it prints must show it again.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "act/guard.h"
#include "trial/controlled.h"
#include "trial/soak.h"

namespace muster::act {
// In place of those of act/guard.cpp.
Verdict Guard::check(const State&, const Action&, const Reason&) const { return {true, "planted", {}, {}, false}; }
std::uint32_t allowance(double, std::uint32_t, std::uint32_t) { return UINT32_MAX; }
}  // namespace muster::act

namespace muster::trial {
namespace {

SoakOptions tight() {
  SoakOptions o;
  o.run.twin = stormy();
  o.run.policy = default_policy();
  Limits& l = o.run.policy.limits;
  l.out_cluster_pct = l.out_rack_pct = l.harm_per_hour_pct = 0;
  l.out_cluster_floor = 1;
  l.out_rack_floor = 1;
  l.harm_per_hour_floor = 2;
  o.run.must_hold = o.run.policy;
  o.run.length = days(1);
  o.seeds = 5;
  o.faults_floor = 10;
  o.make_journal = [] { return std::make_unique<KeptJournal>(); };
  return o;
}

TEST(PlantedDefect, AGuardThatAlwaysSaysYesIsFoundByTheSoakAndItsSeedShowsItAgain) {
  const auto found = soak(tight());
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_FALSE(found->is_void);
  const auto budget = [](const SoakViolation& v) { return v.what.find("budget: ") != std::string::npos; };
  const auto first = std::find_if(found->violations.begin(), found->violations.end(), budget);
  ASSERT_NE(first, found->violations.end()) << "the soak does not see a missing guard: it proves nothing";
  fmt::print("seed {}: {}\n", first->seed, first->what);

  SoakOptions once = tight();
  once.seeds = 1;
  once.first_seed = first->seed;
  const auto again = soak(once);
  ASSERT_TRUE(again) << again.error().what;
  std::vector<std::string> before;
  std::vector<std::string> after;
  for (const SoakViolation& v : found->violations) {
    if (v.seed == first->seed) before.push_back(v.what);
  }
  for (const SoakViolation& v : again->violations) after.push_back(v.what);
  EXPECT_EQ(before, after) << "the seed is the bug report";
}

TEST(PlantedDefect, EverySeedOfThisStormShowsIt) {
  const auto found = soak(tight());
  ASSERT_TRUE(found) << found.error().what;
  std::set<std::uint64_t> seeds;
  for (const SoakViolation& v : found->violations) seeds.insert(v.seed);
  EXPECT_EQ(seeds.size(), 5U);
}

}  // namespace
}  // namespace muster::trial
