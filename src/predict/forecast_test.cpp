#include "predict/forecast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/prng.h"
#include "predict/demand.h"

namespace muster::predict {
namespace {

constexpr std::array<std::size_t, 3> kHorizons = {7, 14, 28};
constexpr auto kTrend = ForecastMethod::damped_trend;
constexpr auto kNaive = ForecastMethod::seasonal_naive;

std::vector<double> weekly(std::size_t days) {
  std::vector<double> out;
  for (std::size_t i = 0; i < days; ++i) out.push_back(i % 7 < 5 ? 1000 : 400);
  return out;
}

std::vector<double> noisy(std::uint64_t seed, std::size_t days, double sd) {
  std::vector<double> out = weekly(days);
  Prng r(seed, "noisy days");
  for (double& x : out) x += sd * r.normal();
  return out;
}

TEST(Forecast, AWeekThatRepeatsIsForetoldByEveryMethod) {
  for (const auto m : {kTrend, kNaive, ForecastMethod::weekday_mean}) {
    const auto y = weekly(52);
    const auto f = forecast_days(y, m, 28);
    for (std::size_t h = 0; h < 28; ++h) EXPECT_NEAR(f[h], (y.size() + h) % 7 < 5 ? 1000 : 400, 1e-6) << h;
  }
}

TEST(Forecast, TheDampedTrendFollowsAndFlattens) {
  std::vector<double> y;
  for (int i = 0; i < 400; ++i) y.push_back(1000 + 10.0 * i);
  const auto f = forecast_days(y, kTrend, 200);
  EXPECT_GT(f[27], f[0]);
  EXPECT_LT(f[199] - f[100], f[99] - f[0]);
}

TEST(Forecast, NothingIsBelowZero) {
  std::vector<double> y;
  for (int i = 0; i < 60; ++i) y.push_back(std::max(0.0, 600.0 - 12 * i));
  for (const double v : forecast_days(y, kTrend, 60)) EXPECT_GE(v, 0);
}

TEST(Forecast, SmoothingBeatsAWeekAgoWhereDaysAreNoise) {
  const ForecastScores s = score_forecasts(noisy(1, 200, 150), kHorizons);
  ASSERT_TRUE(s.skill);
  EXPECT_GT(*s.skill, 0.1);  // the error of one noisy day against that of two: 1 - 1/sqrt(2) at most
  EXPECT_LT(*s.skill, 0.3);
  EXPECT_EQ(s.shown, kTrend);
}

TEST(Forecast, WhereItLosesNoSkillIsClaimedAndTheNaiveIsShown) {
  std::vector<double> y;  // levels that jump: what smoothing follows slowly
  for (std::size_t i = 0; i < 210; ++i) y.push_back(i / 21 % 2 == 0 ? 1000 : 300);
  const ForecastScores s = score_forecasts(y, kHorizons);
  ASSERT_TRUE(s.skill);
  EXPECT_LT(*s.skill, 0);
  EXPECT_EQ(s.shown, kNaive);
}

TEST(Forecast, TooShortAHistoryClaimsNothing) {
  const ForecastScores s = score_forecasts(noisy(1, 30, 100), kHorizons);
  EXPECT_FALSE(s.skill);
  EXPECT_EQ(s.shown, kNaive);
  EXPECT_FALSE(s.horizons[0].wape[0]);
  EXPECT_TRUE(roll(noisy(1, 20, 1), kTrend, LeadSpan::day, 7).ahead.empty());
}

TEST(Forecast, BandsHoldTheShareTheyPromise) {
  std::uint64_t bands = 0, held = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const LeadScore& l : roll(noisy(seed, 160, 150), kTrend, LeadSpan::day, 28).scores) {
      bands += l.bands;
      held += l.held;
    }
  }
  EXPECT_NEAR(static_cast<double>(held) / static_cast<double>(bands), 0.8, 0.025);
}

// The level wanders and its steps grow fourfold half way: fixed quantiles of what went before are too narrow then.
std::vector<double> changing(std::uint64_t seed) {
  Prng r(seed, "changing days");
  std::vector<double> out;
  double level = 5000;
  for (int i = 0; i < 240; ++i) {
    level += (i < 120 ? 50 : 200) * r.normal();
    out.push_back(std::max(0.0, level));
  }
  return out;
}

TEST(Forecast, BandsRecoverWhereTheSiteChangesAndFixedOnesDoNot) {
  const auto share = [](double step) {
    BandSpec spec;
    spec.step = step;
    std::uint64_t bands = 0, held = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const auto scores = roll(changing(seed), kNaive, LeadSpan::day, 14, spec).scores;
      for (const LeadScore& l : scores) {
        bands += l.bands;
        held += l.held;
      }
    }
    return static_cast<double>(held) / static_cast<double>(bands);
  };
  EXPECT_LT(share(0), 0.72);
  EXPECT_GT(share(0.05), 0.75);
  EXPECT_LT(share(0.05), 0.9);
}

TEST(Forecast, WhatComesLaterChangesNoBandGivenBefore) {
  auto y = noisy(3, 91, 150);
  y[90] = 1e6;  // no band that was given before can hold it, unless it was looked at
  const auto count = [](const Rolling& r) {
    std::pair<std::uint64_t, std::uint64_t> n;
    for (const LeadScore& l : r.scores) {
      n.first += l.bands;
      n.second += l.held;
    }
    return n;
  };
  const auto before = count(roll(std::span(y).first(90), kTrend, LeadSpan::day, 14));
  const auto after = count(roll(y, kTrend, LeadSpan::day, 14));
  EXPECT_EQ(after.first, before.first + 14);
  EXPECT_EQ(after.second, before.second);
}

TEST(Forecast, BandsBeyondTheHistoryAreWidenedAndSaidToBe) {
  const auto r = roll(noisy(5, 60, 150), kTrend, LeadSpan::day, 120);
  ASSERT_EQ(r.ahead.size(), 120U);
  EXPECT_TRUE(r.ahead[0].checked);
  EXPECT_FALSE(r.ahead[119].checked);
  std::size_t last = 0;
  while (r.ahead[last].checked) ++last;
  const DayBand& edge = r.ahead[last - 1];
  const double wide = r.ahead[119].high - r.ahead[119].point;
  EXPECT_NEAR(wide, (edge.high - edge.point) * std::sqrt(120.0 / static_cast<double>(last)), 1e-6);
}

TEST(Forecast, TotalsAndWeeksAreOfTheirDays) {
  const auto y = weekly(70);
  const auto total = roll(y, kNaive, LeadSpan::total, 14).ahead;
  EXPECT_NEAR(total[13].point, 2 * (5 * 1000 + 2 * 400), 1e-6);
  const auto week = roll(y, kNaive, LeadSpan::week, 14).ahead;
  EXPECT_NEAR(week[13].point, (5 * 1000 + 2 * 400) / 7.0, 1e-6);
}

TEST(Forecast, RunOutDatesAreWhereTheBandsMeetTheLimit) {
  std::vector<DayBand> b;
  for (int i = 1; i <= 30; ++i) b.push_back({10.0 * i - 50, 10.0 * i, 10.0 * i + 50, true});
  const RunOut r = run_out(b, 200);
  EXPECT_EQ(r.p10, 15U);
  EXPECT_EQ(r.p50, 20U);
  EXPECT_EQ(r.p90, 25U);
  EXPECT_FALSE(run_out(b, 1000).p10);
  grow(b, 1.0);
  EXPECT_LT(run_out(b, 280).p50, 28U);
}

TEST(Forecast, GrowthOfATotalIsThatOfItsDays) {
  std::vector<DayBand> b;
  for (int i = 1; i <= 365; ++i) b.push_back({80.0 * i, 100.0 * i, 120.0 * i, true});
  grow_totals(b, 1.0);
  EXPECT_NEAR(b.back().point, 36500 / std::log(2.0), 150);  // the mean of 2^t over a year is 1/ln 2
}

TEST(Demand, AJobIsSpreadOverItsDaysAndTheLastDayIsLeftOut) {
  const Time noon = Time{} + days(10) + hours(12);
  const std::vector<TraceJob> jobs = {{noon, hours(36), 2, ""}, {noon + days(3), hours(1), 1, ""}};
  const DemandDays d = demand_days(jobs);
  EXPECT_EQ(d.first, Time{} + days(10));
  EXPECT_EQ(d.gpu_hours, (std::vector<double>{24, 48, 0}));
  EXPECT_EQ(d.jobs, (std::vector<std::uint64_t>{1, 0, 0}));
  EXPECT_EQ(day_start(d, 3), Time{} + days(13));
  EXPECT_TRUE(demand_days({}).gpu_hours.empty());
}

TEST(Demand, ADateOfAnotherLifeIsBeyondTheLastStretch) {
  const auto job = [](double day) { return TraceJob{Time{} + from_seconds(86400 * (20'000 + day)), hours(1), 1, ""}; };
  std::vector<TraceJob> jobs;
  for (int d = 0; d < 60; ++d) jobs.push_back(job(d));
  const auto of = [&] {
    const JobStretch s = last_stretch(jobs);
    return std::pair(s.first, s.last);
  };
  EXPECT_EQ(of(), (std::pair<std::size_t, std::size_t>(0, 60)));
  jobs.insert(jobs.begin(), job(-19'999));  // 1970
  jobs.push_back(job(25'000));              // a wrong year
  EXPECT_EQ(of(), (std::pair<std::size_t, std::size_t>(1, 61)));
  for (int d = 0; d < 10; ++d) jobs.push_back(job(25'001 + d));  // and work enough to be another time: the later is meant
  EXPECT_EQ(of(), (std::pair<std::size_t, std::size_t>(61, 72)));
  jobs = {job(0), job(27), job(54)};  // four weeks are no gap yet
  EXPECT_EQ(of(), (std::pair<std::size_t, std::size_t>(0, 3)));
  EXPECT_EQ(last_stretch({}).last, 0U);
}

}  // namespace
}  // namespace muster::predict
