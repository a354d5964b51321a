#include "report/money_views.h"

#include <gtest/gtest.h>

#include "base/civil.h"
#include "ingest/json.h"
#include "report/units.h"

namespace muster::report {
namespace {

const Time kBegin = begin_of(20'454);  // 2026-01-01

Charge some_charge(std::string account, std::int64_t amount_micro) {
  Charge c;
  c.seq = 1;
  c.job = "7";
  c.started = c.from = kBegin;
  c.to = kBegin + hours(2);
  c.account = std::move(account);
  c.gpus_milli = 8000;
  c.rate = "a";
  c.currency = "USD";
  c.amount_micro = amount_micro;
  return c;
}

TEST(ChargesView, SumsAreExactToTheMillionth) {
  Ledger ledger;
  ledger.charges = {some_charge("phys", 1), some_charge("phys", 40'000'000), some_charge("=cmd", 3)};
  account::Charging now;
  now.charges = {some_charge("phys", 2)};
  now.not_charged.push_back(
      {account::NotCharged::no_rate, "9", "bio", "eve", "gpu", "h200", kBegin, kBegin + hours(1), 3'600'000'000});
  ChargesView v;
  v.before = &ledger;
  v.charging = &now;
  v.from = Time{INT64_MIN};
  v.to = kNever;
  const Value json = parse_json(charges_json(v)).value();
  EXPECT_EQ(number_of(list_of(json, "rows")[0], "amount_micro"), 40'000'003);
  EXPECT_EQ(number_of(list_of(json, "sums")[0], "amount_micro"), 40'000'006);
  const std::string text = charges_text(v, {});
  EXPECT_NE(text.find("1 piece with 1.0 GPU-hours has no rate and is not charged: job 9 (bio, gpu, h200)."), std::string::npos)
      << text;
  EXPECT_NE(charges_csv(v).find("phys,1,3,48,40.000003,USD"), std::string::npos) << charges_csv(v);
  EXPECT_NE(charges_csv(v).find("'=cmd"), std::string::npos) << "no spreadsheet runs it";
}

TEST(QuotaView, SaysWhenWhatIsLeftRunsOut) {
  Allocation a;
  a.account = "phys";
  a.from = kBegin;
  a.to = kBegin + days(100);
  a.gpu_milli_ms = 30'000 * kMilliMsOfHour;
  const account::Use use{"phys", kBegin, kBegin + days(50), 20'000 * kMilliMsOfHour, 0, {}};
  const account::Use other{"eve", kBegin, kBegin + days(50), kMilliMsOfHour, 0, {}};
  const std::vector<account::Use> uses = {use, other};
  const account::Quotas q = account::burn_down({a}, uses, kBegin + days(50));
  const std::string text = quota_text(q, {});
  EXPECT_NE(text.find("66.7 %"), std::string::npos) << text;
  EXPECT_NE(text.find("2026-03-17"), std::string::npos) << "10,000 GPU-hours at 400 a day last 25 days: " << text;
  EXPECT_NE(text.find("eve: 1.0 GPU-hours"), std::string::npos) << text;
  const Value json = parse_json(quota_json(q)).value();
  EXPECT_EQ(number_of(list_of(json, "rows")[0], "left_gpu_hours"), 10'000);
  EXPECT_EQ(text_of(list_of(json, "rows")[0], "standing"), "runs_out");
  EXPECT_EQ(text_of(list_of(json, "rows")[0], "runs_out_first_utc"), "2026-03-17T00:00:00Z");
}

}  // namespace
}  // namespace muster::report
