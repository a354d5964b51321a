#include "accept/limits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "accept/sample.h"

namespace muster::accept {
namespace {

TEST(Limits, MultiplesAreThoseOfTheNormalWhenMuchIsKnown) {
  EXPECT_NEAR(multiples(0.025, 1e9), 1.95996, 1e-4);
  EXPECT_NEAR(multiples(1e-6, 1e9), 4.75342, 1e-4);
  EXPECT_NEAR(multiples(0.025, 30), 2.0423, 2e-3) << "Student's t with 30 degrees of freedom";
  EXPECT_GT(multiples(1e-6, 20), multiples(1e-6, 200));
}

TEST(Limits, OneWildValueDoesNotWidenASpread) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(100 + 0.1 * (i % 10));
  const Spread before = spread_of(values);
  values.push_back(1e6);
  const Spread after = spread_of(values);
  EXPECT_NEAR(after.median, before.median, 0.2);
  EXPECT_LT(after.sigma, 2 * before.sigma);
}

TEST(Limits, AFleetThatIsTooSmallHasNone) {
  std::vector<Acceptance> small, enough;
  for (std::uint32_t i = 1; i <= 4; ++i) (i < 4 ? small : enough).push_back(sample_node(i, 8, 0));
  enough.insert(enough.end(), small.begin(), small.end());
  const Acceptance& a = small[0];
  const Cohort cohort = cohort_of(a, a.gpus[0]);
  const Metric& read = *find_metric("hbm_read");
  const Limits few(small), many(enough);
  EXPECT_TRUE(few.gpu(cohort, "").of_kind(read).empty());
  const auto limits = many.gpu(cohort, "").of_kind(read);
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_EQ(limits[0].basis, Basis::fleet);
  EXPECT_NEAR(limits[0].of.median, 4693, 5);
  EXPECT_LT(limits[0].value, 4693 * 0.985);
  EXPECT_GT(limits[0].value, 4693 * 0.97);
}

TEST(Limits, GpusOfAnotherDriverPowerLimitOrCoolingAreAnotherKind) {
  std::vector<Acceptance> fleet;
  for (std::uint32_t i = 1; i <= 8; ++i) fleet.push_back(sample_node(i, 8, 0));
  const Limits limits(fleet);
  const Metric& read = *find_metric("hbm_read");
  Acceptance a = fleet[0];
  EXPECT_FALSE(limits.gpu(cohort_of(a, a.gpus[0]), "").of_kind(read).empty());
  a.host.driver = "570.1";
  EXPECT_TRUE(limits.gpu(cohort_of(a, a.gpus[0]), "").of_kind(read).empty());
  a = fleet[0];
  a.gpus[0].power_limit_w = 600;
  EXPECT_TRUE(limits.gpu(cohort_of(a, a.gpus[0]), "").of_kind(read).empty());
  a = fleet[0];
  a.host.cooling = "liquid";
  EXPECT_TRUE(limits.gpu(cohort_of(a, a.gpus[0]), "").of_kind(read).empty());
  a = fleet[0];
  a.suite.hash = "other";
  EXPECT_TRUE(limits.gpu(cohort_of(a, a.gpus[0]), "").of_kind(read).empty()) << "suites are never compared";
}

TEST(Limits, EachGpuCountsOnceHoweverOftenItRan) {
  std::vector<Acceptance> runs;
  for (int i = 0; i < 40; ++i) runs.push_back(sample_node(1, 1, 0));
  EXPECT_EQ(Limits(runs).gpus(cohort_of(runs[0], runs[0].gpus[0])), 1U);
}

}  // namespace
}  // namespace muster::accept
