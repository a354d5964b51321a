#include "account/charges.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/civil.h"
#include "base/prng.h"

namespace muster::account {
namespace {

const Time kBegin = begin_of(20'454);  // 2026-01-01

Rate price(std::string id, Time from, std::int64_t micro, std::string type = {}, std::string account = {}) {
  Rate r;
  r.id = std::move(id);
  r.from = from;
  r.gpu_type = std::move(type);
  r.account = std::move(account);
  r.price_micro = micro;
  r.currency = "USD";
  return r;
}

JobRecord run(std::uint64_t number, Time from, Time to, std::int64_t gpus = 8, std::string account = "phys") {
  JobRecord r;
  r.cluster = "c1";
  r.id.number = number;
  r.id.text = std::to_string(number);
  r.account = std::move(account);
  r.user = "ada";
  r.partition = "gpu";
  r.gpu_type = "h200";
  r.gpus_milli = gpus * 1000;
  r.state = to == kNever ? RecordState::running : RecordState::completed;
  r.started = from;
  r.ended = to == kNever ? Time{} : to;
  return r;
}

SiteRuns runs_of(const std::vector<JobRecord>& records) {
  SiteRuns out;
  for (const JobRecord& r : records) out.take(r);
  return out;
}

std::int64_t money(const std::vector<Charge>& charges) {
  return std::accumulate(charges.begin(), charges.end(), std::int64_t{0},
                         [](std::int64_t sum, const Charge& c) { return sum + c.amount_micro; });
}

// What is charged, appended.
Charging add(Ledger& l, const std::vector<JobRecord>& records, const std::vector<Rate>& rates, Time until = kNever) {
  Charging c = charge(runs_of(records), rates, l, until, kBegin + days(100));
  l.charges.insert(l.charges.end(), c.charges.begin(), c.charges.end());
  return c;
}

TEST(Charges, ARunIsChargedOnceAndNeverPricedAnew) {
  Ledger l;
  const std::vector<JobRecord> jobs = {run(1, kBegin, kBegin + hours(10))};
  const Charging first = add(l, jobs, {price("a", kBegin, 2'500'000)});
  ASSERT_EQ(first.charges.size(), 1U);
  EXPECT_EQ(first.charges[0].amount_micro, 80 * 2'500'000);
  EXPECT_EQ(first.charges[0].rate, "a");
  EXPECT_EQ(first.charges[0].price_micro, 2'500'000);
  const Charging again = add(l, jobs, {price("dearer", kBegin, 9'000'000)});
  EXPECT_TRUE(again.charges.empty());
  EXPECT_EQ(again.runs_before, 1U);
  EXPECT_EQ(money(l.charges), 80 * 2'500'000);
}

TEST(Charges, ARateThatChangesInTheMiddleOfARunSplitsIt) {
  Ledger l;
  add(l, {run(1, kBegin, kBegin + hours(10))}, {price("old", kBegin, 2'000'000), price("new", kBegin + hours(4), 3'000'000)});
  ASSERT_EQ(l.charges.size(), 2U);
  EXPECT_EQ(l.charges[0].rate, "old");
  EXPECT_EQ(l.charges[0].to, kBegin + hours(4));
  EXPECT_EQ(l.charges[1].from, kBegin + hours(4));
  EXPECT_EQ(money(l.charges), 8 * (4 * 2'000'000 + 6 * 3'000'000));
  EXPECT_EQ(l.charges[1].seq, 2U);
}

TEST(Charges, ARowThatIsNotForItDoesNotSplitARun) {
  Ledger l;
  add(l, {run(1, kBegin, kBegin + hours(10))},
      {price("h200", kBegin, 3'000'000, "h200"), price("all", kBegin + hours(2), 1'000'000),
       price("a100", kBegin + hours(3), 1'000'000, "a100")});
  ASSERT_EQ(l.charges.size(), 1U);
  EXPECT_EQ(l.charges[0].rate, "h200");
}

TEST(Charges, ARunThatGrewIsChargedTheDifferenceAtThePriceOfThatTime) {
  Ledger l;
  const std::vector<Rate> rates = {price("a", kBegin, 2'000'000), price("b", kBegin + hours(6), 5'000'000)};
  add(l, {run(1, kBegin, kNever)}, rates, kBegin + hours(4));
  EXPECT_EQ(money(l.charges), 8 * 4 * 2'000'000);
  add(l, {run(1, kBegin, kBegin + hours(9))}, rates);
  ASSERT_EQ(l.charges.size(), 3U);
  EXPECT_EQ(l.charges[1].from, kBegin + hours(4));
  EXPECT_EQ(money(l.charges), 8 * (6 * 2'000'000 + 3 * 5'000'000));
  EXPECT_TRUE(add(l, {run(1, kBegin, kBegin + hours(9))}, rates).charges.empty());
}

TEST(Charges, ARunThatGoesOnIsNotChargedUnlessItIsSaidHowFar) {
  Ledger l;
  const Charging c = add(l, {run(1, kBegin, kNever)}, {price("a", kBegin, 1'000'000)});
  EXPECT_TRUE(c.charges.empty());
  ASSERT_EQ(c.not_charged.size(), 1U);
  EXPECT_EQ(c.not_charged[0].why, NotCharged::runs);
}

TEST(Charges, WhatHasNoRateIsNamedAndNotChargedAtNought) {
  Ledger l;
  const std::vector<Rate> late = {price("a", kBegin + hours(6), 1'000'000)};
  const Charging c = add(l, {run(1, kBegin, kBegin + hours(10)), run(2, kBegin, kBegin + hours(2), 4)}, late);
  ASSERT_EQ(c.charges.size(), 1U);
  EXPECT_EQ(c.charges[0].from, kBegin + hours(6));
  ASSERT_EQ(c.not_charged.size(), 2U);
  EXPECT_EQ(c.not_charged[0].job, "1");
  EXPECT_EQ(c.not_charged[0].milli_ms, 48 * kMilliMsOfHour);
  EXPECT_EQ(c.not_charged[1].milli_ms, 8 * kMilliMsOfHour);
  // Once there is one, the rest is charged too, and nothing twice.
  add(l, {run(1, kBegin, kBegin + hours(10))}, {price("b", kBegin, 2'000'000)});
  EXPECT_EQ(money(l.charges), 32 * 1'000'000 + 48 * 2'000'000);
}

TEST(Charges, TheRowThatNamesMostHolds) {
  const std::vector<Rate> rates = {price("all", kBegin, 1), price("type", kBegin, 2, "h200"),
                                   price("acct", kBegin, 3, {}, "phys"), price("both", kBegin, 4, "h200", "phys"),
                                   price("later", kBegin + hours(1), 5, "h200")};
  const auto id = [&](const char* account, const char* type, Time at) {
    const Priced p = price_of(rates, account, type, "gpu", at);
    return p.rate == nullptr ? std::string("none") : p.rate->id;
  };
  EXPECT_EQ(id("bio", "a100", kBegin), "all");
  EXPECT_EQ(id("bio", "H200", kBegin), "type") << "in any case of letters";
  EXPECT_EQ(id("bio", "h200", kBegin + hours(2)), "later");
  EXPECT_EQ(id("phys", "a100", kBegin), "acct");
  EXPECT_EQ(id("phys", "h200", kBegin + hours(2)), "both");
  EXPECT_EQ(id("phys", "h200", kBegin - hours(1)), "none");
}

TEST(Charges, ADiscountIsTakenOffWhateverPriceHolds) {
  Rate off;
  off.id = "off";
  off.from = kBegin + hours(1);
  off.account = "phys";
  off.discount_ppm = 125'000;
  Ledger l;
  add(l, {run(1, kBegin, kBegin + hours(3)), run(2, kBegin, kBegin + hours(3), 8, "bio")}, {price("a", kBegin, 2'000'000), off});
  ASSERT_EQ(l.charges.size(), 3U);
  EXPECT_EQ(l.charges[1].discount, "off");
  EXPECT_EQ(l.charges[1].amount_micro, 16 * 2'000'000 * 7 / 8);
  EXPECT_EQ(l.charges[2].discount, "");
}

TEST(Charges, RunsOfWhichTooLittleIsKnownAreNamed) {
  std::vector<JobRecord> jobs = {run(1, kBegin, kBegin + hours(1)), run(2, kBegin + hours(2), kBegin + hours(1)),
                                 run(3, kBegin, kBegin + hours(1), 0)};
  jobs[0].gpus_milli.reset();
  Ledger l;
  const Charging c = add(l, jobs, {price("a", kBegin, 1'000'000)});
  EXPECT_TRUE(c.charges.empty());
  ASSERT_EQ(c.not_charged.size(), 2U);
  EXPECT_EQ(c.not_charged[0].why, NotCharged::gpus_unknown);
  EXPECT_EQ(c.not_charged[1].why, NotCharged::sooner);
  EXPECT_EQ(c.runs_without_gpus, 1U);
}

TEST(Charges, WhatHasNoStartOrNoEndIsNotChargedUpToAnyMoment) {
  std::vector<JobRecord> jobs = {run(1, kBegin, kBegin + hours(1)), run(2, kBegin, kBegin + hours(1))};
  jobs[0].ended = Time{};
  jobs[1].started = jobs[1].ended = Time{};
  jobs[1].ran = hours(2);
  Ledger l;
  SiteRuns runs;
  for (const JobRecord& j : jobs) runs.take(j);
  const Charging c = charge(runs, {price("a", kBegin, 1'000'000)}, l, kBegin + days(30), kBegin + days(30));
  EXPECT_TRUE(c.charges.empty()) << "a job that is over does not go on";
  ASSERT_EQ(c.not_charged.size(), 2U);
  EXPECT_EQ(c.not_charged[0].why, NotCharged::no_end);
  EXPECT_EQ(c.not_charged[1].why, NotCharged::no_start);
  EXPECT_EQ(c.not_charged[1].milli_ms, *jobs[1].gpus_milli * 7'200'000);
}

TEST(Charges, ARunThatIsShorterNowKeepsItsChargeAndIsNamed) {
  Ledger l;
  add(l, {run(1, kBegin, kBegin + hours(9))}, {price("a", kBegin, 1'000'000)});
  const Charging c = add(l, {run(1, kBegin, kBegin + hours(8))}, {price("a", kBegin, 1'000'000)});
  EXPECT_TRUE(c.charges.empty());
  ASSERT_EQ(c.not_charged.size(), 1U);
  EXPECT_EQ(c.not_charged[0].why, NotCharged::shrank);
  EXPECT_EQ(c.not_charged[0].milli_ms, 8 * kMilliMsOfHour);
}

TEST(Charges, AmountsAreExactWhereDoublesAreNot) {
  EXPECT_EQ(amount_of(kMilliMsOfHour, 3'333'333, 0), 3'333'333);
  EXPECT_EQ(amount_of(1, 1, 0), 0) << "far below a half";
  EXPECT_EQ(amount_of(kMilliMsOfHour / 2, 1, 0), 1) << "half of a millionth is rounded up";
  EXPECT_EQ(amount_of(kMilliMsOfHour * 100'000'000, 10'000'000, 0), std::int64_t{100'000'000} * 10'000'000);
  EXPECT_EQ(amount_of(kMilliMsOfHour * 1'000'000'007, 9'000'001, 1), 8'999'992'062'998'944) << "a double has no room for it";
}

TEST(Charges, HoweverOftenAndInWhichPiecesItIsChargedAllTimeIsChargedOnce) {
  Prng prng(7, "charges");
  const std::vector<Rate> rates = {price("a", kBegin, 1'999'999), price("b", kBegin + hours(33), 3'000'001),
                                   price("c", kBegin + hours(50), 2'500'000, "h200")};
  for (int k = 0; k < 50; ++k) {
    std::vector<JobRecord> all;
    for (std::uint64_t i = 1; i <= 20; ++i) {
      const Time from = kBegin + seconds(static_cast<std::int64_t>(prng.below(150'000)));
      const Time to = from + seconds(1 + static_cast<std::int64_t>(prng.below(100'000)));
      all.push_back(run(i, from, to, 1 + static_cast<std::int64_t>(prng.below(16))));
    }
    Ledger l;
    for (Time t = kBegin; t < kBegin + hours(80); t = t + seconds(3600 + static_cast<std::int64_t>(prng.below(40'000)))) {
      std::vector<JobRecord> then;
      for (JobRecord r : all) {
        if (r.started > t) continue;
        if (r.ended > t) r.ended = {}, r.state = RecordState::running;
        then.push_back(r);
      }
      add(l, then, rates, t);
    }
    add(l, all, rates);
    std::int64_t wanted = 0, charged = 0, whole = 0;
    for (const JobRecord& r : all) wanted += *r.gpus_milli * ((r.ended - r.started).ns / 1'000'000);
    for (const Charge& c : l.charges) charged += c.milli_ms();
    EXPECT_EQ(charged, wanted);
    Ledger at_once;
    add(at_once, all, rates);
    whole = money(at_once.charges);
    EXPECT_LE(std::abs(money(l.charges) - whole), static_cast<std::int64_t>(l.charges.size())) << "a rounding each at most";
  }
}

TEST(Charges, TotalsAddUp) {
  Ledger l;
  add(l,
      {run(1, kBegin, kBegin + hours(1)), run(2, kBegin, kBegin + hours(2), 8, "bio"),
       run(3, kBegin + days(40), kBegin + days(41), 1)},
      {price("a", kBegin, 1'000'000)});
  const auto by_account = totals(l.charges, ChargesBy::account, Time{0}, kNever);
  ASSERT_EQ(by_account.size(), 2U);
  EXPECT_EQ(by_account[0].name, "phys");
  EXPECT_EQ(by_account[0].amount_micro, 32'000'000);
  EXPECT_EQ(by_account[0].jobs, 2U);
  EXPECT_EQ(by_account[1].milli_ms, 16 * kMilliMsOfHour);
  const auto by_month = totals(l.charges, ChargesBy::month, Time{0}, kNever);
  ASSERT_EQ(by_month.size(), 2U);
  EXPECT_EQ(by_month[0].name, "2026-01") << "months in their order";
  EXPECT_EQ(totals(l.charges, ChargesBy::user, kBegin + days(30), kNever)[0].amount_micro, 24'000'000);
}

}  // namespace
}  // namespace muster::account
