#include "trial/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/prng.h"

namespace muster::trial {
namespace {

TEST(Statistics, QuantilesOfStudentsTAreThoseOfTheTables) {
  const struct {
    std::uint64_t df;
    double p, t;
  } known[] = {{1, 0.975, 12.706204736},  {2, 0.975, 4.302652730}, {3, 0.975, 3.182446305},  {4, 0.995, 4.604094871},
               {5, 0.95, 2.015048373},    {9, 0.975, 2.262157163}, {10, 0.9, 1.372183641},   {30, 0.975, 2.042272456},
               {100, 0.975, 1.983971519}, {1, 0.75, 1.0},          {2, 0.9995, 31.599054577}};
  for (const auto& k : known) {
    EXPECT_NEAR(student_quantile(k.p, k.df), k.t, 1e-8 * k.t) << k.df << " " << k.p;
    EXPECT_NEAR(student_cdf(k.t, k.df), k.p, 1e-9) << k.df << " " << k.p;
    EXPECT_NEAR(student_quantile(1 - k.p, k.df), -k.t, 1e-7 * k.t);
  }
  EXPECT_NEAR(student_quantile(0.975, 10'000'000), 1.959964, 5e-5);  // the normal one
  EXPECT_EQ(student_cdf(0, 7), 0.5);
  // Closed forms of one and two degrees, all over the range.
  for (double t = 0.01; t < 200; t *= 1.7) {
    EXPECT_NEAR(student_cdf(t, 1), 0.5 + std::atan(t) / 3.14159265358979323846, 1e-12) << t;
    EXPECT_NEAR(student_cdf(-t, 2), 0.5 - t / (2 * std::sqrt(2 + t * t)), 1e-12) << t;
  }
}

TEST(Statistics, TheMeanOfASmallSampleAsByHand) {
  const double v[] = {2, 4, 4, 5, 5};
  const Estimate e = estimate(v);
  EXPECT_EQ(e.n, 5U);
  EXPECT_DOUBLE_EQ(e.mean, 4);
  EXPECT_NEAR(e.sd, std::sqrt(6.0 / 4), 1e-15);
  EXPECT_NEAR(e.high - e.mean, 2.776445105 * std::sqrt(1.5) / std::sqrt(5.0), 1e-8);
  EXPECT_NEAR(e.mean - e.low, e.high - e.mean, 1e-12);
  // Its t is 7.303; the two-sided p with 4 degrees is 0.00187.
  EXPECT_NEAR(student_p(e), 0.001870, 2e-6);
}

TEST(Statistics, OneValueHasNoIntervalAndNoValuesNoMean) {
  const double one[] = {3};
  EXPECT_EQ(estimate(one).low, 3);
  EXPECT_EQ(estimate(one).high, 3);
  EXPECT_EQ(student_p(estimate(one)), 1);
  EXPECT_EQ(estimate({}).n, 0U);
}

// The promise of an interval: it holds the truth in 95 of 100 samples, also where the values are not normal but the sample is
// not tiny.
TEST(Statistics, NinetyFivePercentIntervalsHoldTheTruthInNinetyFivePercent) {
  Prng prng(7, "coverage");
  const auto coverage = [&](std::size_t n, double truth, auto draw) {
    int held = 0;
    constexpr int kSamples = 8000;
    for (int k = 0; k < kSamples; ++k) {
      std::vector<double> v(n);
      for (double& x : v) x = draw();
      const Estimate e = estimate(v);
      held += e.low <= truth && truth <= e.high ? 1 : 0;
    }
    return 100.0 * held / kSamples;
  };
  for (const std::size_t n : {3, 5, 10, 20}) {
    const double normal = coverage(n, 5, [&] { return 5 + 2 * prng.normal(); });
    EXPECT_GT(normal, 93) << n;
    EXPECT_LT(normal, 97) << n;
    const double differences = coverage(n, 0, [&] { return prng.exponential(1) - prng.exponential(1); });
    EXPECT_GT(differences, 93) << n;
    EXPECT_LT(differences, 97.5) << n;
  }
  const double uniform = coverage(10, 0.5, [&] { return prng.unit(); });
  EXPECT_GT(uniform, 93);
  EXPECT_LT(uniform, 97);
  // With the quantiles of the normal distribution samples of five would hold it in 88 of 100: this test would see that.
}

double alone(std::vector<double> d) { return sign_flips({std::move(d)}).p[0]; }

TEST(Statistics, BoundsOfAPoissonMeanAreThoseOfTheTables) {
  const struct {
    std::uint64_t count;
    double low, high;  // 95 %, one-sided: half of chi-squared quantiles
  } known[] = {
      {0, 0, 2.995732}, {1, 0.051293, 4.743865}, {3, 0.817691, 7.753657}, {12, 6.924213, 19.442569}, {20, 13.254651, 29.062020}};
  for (const auto& k : known) {
    EXPECT_NEAR(poisson_low(k.count), k.low, 1e-5) << k.count;
    EXPECT_NEAR(poisson_high(k.count), k.high, 1e-5) << k.count;
  }
  EXPECT_LT(poisson_high(5, 0.5), poisson_high(5, 0.99));
}

TEST(Statistics, SignFlipsCountedByHand) {
  EXPECT_DOUBLE_EQ(alone({1, 2, 3, 4}), 2.0 / 16);
  EXPECT_DOUBLE_EQ(alone({3, -1, 2}), 4.0 / 8);  // sums of all 8 patterns: 6, 4, 2 and 0, each twice with a sign; seen is 4
  EXPECT_DOUBLE_EQ(alone({5}), 1);
  EXPECT_DOUBLE_EQ(alone({0, 0, 0}), 1);
  EXPECT_DOUBLE_EQ(alone({0, 1, 0, 2, 3, 4, 0}), 2.0 / 16);
  EXPECT_DOUBLE_EQ(alone({0.1, 0.2, 0.3, -0.3}), 12.0 / 16);  // sums that differ in their last bits only are equal
  EXPECT_TRUE(sign_flips({}).p.empty());
}

TEST(Statistics, ManyPairsAreFlippedByDrawingAndAlwaysTheSame) {
  Prng prng(3, "flips");
  std::vector<double> d(30);
  for (double& x : d) x = 0.4 + prng.normal();
  const FlipTests drawn = sign_flips({d});
  EXPECT_FALSE(drawn.exact);
  EXPECT_EQ(sign_flips({d}).p, drawn.p);
  EXPECT_NEAR(drawn.p[0], student_p(estimate(d)), 0.02);  // of normal values both tests say about the same
  d.resize(18);
  EXPECT_TRUE(sign_flips({d}).exact);
  EXPECT_NEAR(alone(d), student_p(estimate(d)), 0.03);
}

TEST(Statistics, SeriesTestedTogetherAreHeldToMoreThanEachAlone) {
  const std::vector<double> strong = {1, 1.1, 0.9, 1, 1.2, 0.8};
  const std::vector<double> weak = {1, -1, 1, 1, -0.5, 1};
  const FlipTests t = sign_flips({weak, strong, strong, {0, 0, 0, 0, 0, 0}});
  EXPECT_DOUBLE_EQ(t.p[1], 2.0 / 64);
  EXPECT_DOUBLE_EQ(t.adjusted[1], 2.0 / 64) << "nothing else comes so far by chance";
  EXPECT_DOUBLE_EQ(t.adjusted[2], 2.0 / 64) << "the same told twice is not two tests";
  EXPECT_DOUBLE_EQ(t.p[0], alone(weak));
  EXPECT_GE(t.adjusted[0], t.p[0]);
  EXPECT_EQ(t.adjusted[3], 1);
}

TEST(Statistics, WithoutADifferenceAtMostFivePercentOfTheTestsSaySoAloneAndOfTheReportsTogether) {
  Prng prng(11, "null");
  int by_itself = 0;
  int by_any = 0;
  constexpr int kTests = 2000;
  for (int k = 0; k < kTests; ++k) {
    std::vector<std::vector<double>> series(8, std::vector<double>(9));
    for (auto& d : series) {
      for (double& x : d) x = prng.exponential(1) - prng.exponential(1);
    }
    const FlipTests t = sign_flips(series);
    by_itself += t.p[0] <= 0.05 ? 1 : 0;
    by_any += *std::min_element(t.adjusted.begin(), t.adjusted.end()) <= 0.05 ? 1 : 0;
  }
  for (const int claims : {by_itself, by_any}) {
    EXPECT_GT(claims, kTests * 33 / 1000);
    EXPECT_LT(claims, kTests * 65 / 1000);
  }
}

TEST(Statistics, PairsNeededShowTheDifferenceAsOftenAsPromised) {
  // The textbook: 80 % power for half a standard deviation takes about 34 pairs.
  const std::uint64_t n = pairs_needed(1, 0.5, 0.05);
  EXPECT_GE(n, 32U);
  EXPECT_LE(n, 36U);
  Prng prng(5, "power");
  int seen = 0;
  for (int k = 0; k < 4000; ++k) {
    std::vector<double> d(n);
    for (double& x : d) x = 0.5 + prng.normal();
    const Estimate e = estimate(d);
    seen += e.low > 0 ? 1 : 0;
  }
  EXPECT_NEAR(seen / 4000.0, 0.8, 0.04);
  EXPECT_EQ(pairs_needed(0, 1, 0.05), 2U);
  EXPECT_EQ(pairs_least(0.05), 6U);  // 2 / 2^6 is the first at or below 0.05
  EXPECT_EQ(pairs_least(0.025), 7U);
  EXPECT_EQ(alone({1, 1, 1, 1, 1, 1}), 2.0 / 64);
  EXPECT_EQ(pairs_needed(1e9, 1e-9, 0.05), kPairsMax);
}

}  // namespace
}  // namespace muster::trial
