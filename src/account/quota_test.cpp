#include "account/quota.h"

#include <gtest/gtest.h>

#include "base/civil.h"

namespace muster::account {
namespace {

const Time kBegin = begin_of(20'454);  // 2026-01-01

Allocation hours_for(std::string account, std::int64_t gpu_hours, int from_day, int to_day) {
  Allocation a;
  a.account = std::move(account);
  a.from = kBegin + days(from_day);
  a.to = kBegin + days(to_day);
  a.gpu_milli_ms = gpu_hours * kMilliMsOfHour;
  return a;
}

// So many GPUs, all the time.
Use use(std::string account, int from_day, int to_day, std::int64_t gpus) {
  const std::int64_t length_ms = std::int64_t{to_day - from_day} * 86'400'000;
  return {std::move(account), kBegin + days(from_day), kBegin + days(to_day), gpus * 1000 * length_ms, 0, {}};
}

TEST(Quota, BurnsDownWithUse) {
  // 10 GPUs for 50 of 100 days, of 24,000 GPU-hours: 12,000 are used, and the rest lasts as long again.
  const std::vector<Use> uses = {use("phys", 0, 50, 10)};
  const Quotas q = burn_down({hours_for("phys", 24'000, 0, 100)}, uses, kBegin + days(50));
  ASSERT_EQ(q.burns.size(), 1U);
  const Burn& b = q.burns[0];
  EXPECT_EQ(b.used, 12'000 * kMilliMsOfHour);
  EXPECT_EQ(b.left(), 12'000 * kMilliMsOfHour);
  EXPECT_DOUBLE_EQ(b.period_gone, 0.5);
  EXPECT_DOUBLE_EQ(b.per_day_7, 240.0 * kMilliMsOfHour);
  EXPECT_DOUBLE_EQ(b.per_day_28, 240.0 * kMilliMsOfHour);
  ASSERT_TRUE(b.out_first && b.out_last);
  EXPECT_EQ(*b.out_first, kBegin + days(100));
  EXPECT_EQ(b.standing, Standing::within) << "to its last moment";
}

TEST(Quota, TheDayItRunsOutIsARangeFromBothRates) {
  // Ten GPUs until a week ago, then forty.
  const std::vector<Use> uses = {use("phys", 0, 43, 10), use("phys", 43, 50, 40)};
  const Quotas q = burn_down({hours_for("phys", 30'000, 0, 100)}, uses, kBegin + days(50));
  const Burn& b = q.burns[0];
  EXPECT_DOUBLE_EQ(b.per_day_7, 960.0 * kMilliMsOfHour);
  EXPECT_DOUBLE_EQ(b.per_day_28, (21 * 240.0 + 7 * 960.0) / 28 * kMilliMsOfHour);
  const double left_h = 30'000 - 43 * 240.0 - 7 * 960.0;
  EXPECT_NEAR((*b.out_first - q.at).seconds() / 86'400, left_h / 960, 1e-6);
  EXPECT_NEAR((*b.out_last - q.at).seconds() / 86'400, left_h / 420, 1e-6);
  EXPECT_EQ(b.standing, Standing::runs_out);
}

TEST(Quota, WhatStandsWhere) {
  const std::vector<Use> uses = {use("over", 0, 10, 10), use("slow", 0, 10, 1), use("burst", 8, 10, 10)};
  const Quotas q =
      burn_down({hours_for("over", 2'000, 0, 100), hours_for("slow", 3'000, 0, 100), hours_for("burst", 10'000, 0, 100),
                 hours_for("later", 100, 50, 100), hours_for("unused", 100, 0, 100), hours_for("past", 100, -50, 5)},
                uses, kBegin + days(10));
  const auto of = [&](std::string_view account) {
    for (const Burn& b : q.burns) {
      if (b.granted.account == account) return b;
    }
    ADD_FAILURE() << account;
    return Burn{};
  };
  EXPECT_EQ(of("over").standing, Standing::overspent);
  EXPECT_EQ(of("over").left(), -400 * kMilliMsOfHour);
  EXPECT_EQ(of("slow").standing, Standing::within);
  EXPECT_EQ(of("later").standing, Standing::not_begun);
  EXPECT_EQ(of("past").standing, Standing::over);
  EXPECT_EQ(of("unused").standing, Standing::within);
  EXPECT_FALSE(of("unused").out_first) << "never, at this rate";
  // 480 GPU-hours of its own in the last 7 of 10 days: 68.6 a day, and 48 a day over all ten that are known.
  EXPECT_NEAR(of("burst").per_day_7 / kMilliMsOfHour, 480 / 7.0, 1e-9);
  EXPECT_NEAR(of("burst").per_day_28 / kMilliMsOfHour, 48, 1e-9) << "no days before the first that is known";
}

TEST(Quota, AtOneOfTwoRatesOnlyItMayRunOut) {
  const std::vector<Use> uses = {use("phys", 0, 43, 0), use("phys", 0, 43, 1), use("phys", 43, 50, 8)};
  // 1,032 + 1,344 are used of 8,000; 192 a day for 50 days are 9,600, at 66 a day 3,300.
  const Quotas q = burn_down({hours_for("phys", 8'000, 0, 100)}, uses, kBegin + days(50));
  EXPECT_EQ(q.burns[0].standing, Standing::may_run_out);
}

TEST(Quota, UseThatNothingCoversIsNamed) {
  const std::vector<Use> uses = {use("phys", 0, 20, 10), use("nobody", 0, 10, 1)};
  const Quotas q = burn_down({hours_for("phys", 24'000, 0, 5), hours_for("phys", 24'000, 10, 100)}, uses, kBegin + days(20));
  ASSERT_EQ(q.ungranted.size(), 2U);
  EXPECT_EQ(q.ungranted[0].account, "phys");
  EXPECT_EQ(q.ungranted[0].milli_ms, 5 * 240 * kMilliMsOfHour) << "between its two";
  EXPECT_TRUE(q.ungranted[0].has_others);
  EXPECT_EQ(q.ungranted[1].milli_ms, 240 * kMilliMsOfHour);
  EXPECT_FALSE(q.ungranted[1].has_others);
}

TEST(Quota, MoneyBurnsByWhatWasCharged) {
  Allocation a = hours_for("phys", 0, 0, 100);
  a.gpu_milli_ms.reset();
  a.money_micro = 1000 * kMicro;
  a.currency = "EUR";
  std::vector<Use> uses = {use("phys", 0, 10, 1), use("phys", 0, 10, 1)};
  uses[0].money_micro = 600 * kMicro;
  uses[0].currency = "EUR";
  uses[1].money_micro = 900 * kMicro;
  uses[1].currency = "USD";
  const Quotas q = burn_down({a}, uses, kBegin + days(5));
  EXPECT_EQ(q.burns[0].used, 300 * kMicro) << "half of its time is gone, and dollars are no euros";
}

TEST(Quota, RunsThatAreInNoUseAreCounted) {
  JobRecord whole;
  whole.id.number = 1;
  whole.account = "phys";
  whole.gpus_milli = 8000;
  whole.node_list = "n1";
  whole.state = RecordState::completed;
  whole.started = kBegin;
  whole.ended = kBegin + hours(1);
  std::vector<JobRecord> jobs(6, whole);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].id.number = i + 1;
  jobs[1].gpus_milli.reset();
  jobs[2].started = Time{};
  jobs[3].ended = Time{};
  jobs[4].ended = kBegin - hours(1);
  jobs[5].state = RecordState::running;  // and yet its row has an end
  SiteRuns runs;
  for (const JobRecord& j : jobs) runs.take(j);
  const UseUnknown u = unknown_use(runs);
  EXPECT_EQ(u.gpus, 1U);
  EXPECT_EQ(u.start, 1U);
  EXPECT_EQ(u.end, 1U);
  EXPECT_EQ(u.backwards, 1U);
  const std::vector<Use> known = use_of(runs, kBegin + days(1));
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known[1].to, kBegin + hours(1)) << "it is believed";
}

}  // namespace
}  // namespace muster::account
