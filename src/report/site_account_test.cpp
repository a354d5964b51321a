#include "report/site_account.h"

#include <gtest/gtest.h>

#include "ingest/json.h"

namespace muster::report {
namespace {

constexpr Time kStart{1'767'225'600'000'000'000};  // 2026-01-01

struct Case {
  account::SiteRuns runs;
  account::SiteAccount account;
  SiteView view;

  explicit Case(bool measured) {
    JobRecord r;
    r.id.number = 7;
    r.user = "ada\n<b>";
    r.account = "=cmd";
    r.gpus_milli = 4000;
    r.node_list = "n1";
    r.state = RecordState::completed;
    r.started = kStart;
    r.ended = kStart + hours(12);
    r.energy_j = 7'200'000;
    runs.take(r);
    account::SiteQuestion q{kStart, kStart + days(2), {{"n1", "h200", 8000}}, {}, {}, {}};
    q.days = {kStart, kStart + days(1), kStart + days(2)};
    if (measured) q.activity = {{"n1", {{kStart, kStart + hours(12), 8000, 5000}}}};
    account = account_site(runs, q);
    view.runs = &runs;
    view.account = &account;
    if (measured) view.metric = "DCGM_FI_PROF_SM_ACTIVE";
  }
};

TEST(SiteAccountReport, what_is_not_known_is_not_called_a_number) {
  const Case c(false);
  const std::string text = site_account_text(c.view, {});
  EXPECT_NE(text.find("8 GPUs on 1 node, 384.0 GPU-hours installed"), std::string::npos) << text;
  EXPECT_NE(text.find("GPU-hour efficiency: not known (target 94.0 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("that time is unseen"), std::string::npos) << text;
  const auto json = parse_json(site_account_json(c.view));
  ASSERT_TRUE(json);
  EXPECT_TRUE(json->find("efficiency")->is_null());
  EXPECT_TRUE(json->find("rates")->is_null());
}

TEST(SiteAccountReport, rates_are_of_what_was_owned_delivered_allocated_and_useful) {
  Case c(true);
  c.view.price.gpu_hour = 2;
  const auto r = rates_of(c.account.sum, c.view.price, c.account.from, c.account.to);
  ASSERT_TRUE(r);
  EXPECT_DOUBLE_EQ(r->cost, 768);
  EXPECT_DOUBLE_EQ(*r->owned, 2);
  EXPECT_DOUBLE_EQ(*r->allocated, 16);
  EXPECT_DOUBLE_EQ(*r->useful, 768.0 / 36);
  const auto year = rates_of(c.account.sum, {{}, 73'000.0, "EUR"}, c.account.from, c.account.to);
  EXPECT_DOUBLE_EQ(year->cost, 400) << "two days of 365";
  EXPECT_FALSE(rates_of(c.account.sum, {}, c.account.from, c.account.to));
  const std::string text = site_account_text(c.view, {});
  EXPECT_NE(text.find("Per GPU-hour owned 2.000, delivered 2.000, allocated 16.000, useful 21.333 USD"), std::string::npos)
      << text;
  EXPECT_NE(text.find("GPU-hour efficiency: 75.0 %"), std::string::npos) << text;
}

TEST(SiteAccountReport, sums_in_json_are_whole_and_add_up) {
  const Case c(true);
  const auto json = parse_json(site_account_json(c.view));
  ASSERT_TRUE(json);
  std::int64_t sum = 0;
  for (const auto& m : *json->find("classes_milli_gpu_ms")->object()) sum += *m.value.integer();
  EXPECT_EQ(sum, *json->find("installed_milli_gpu_ms")->integer());
  EXPECT_EQ(sum, 384 * 3'600'000'000);
  EXPECT_EQ(json->find("days")->array()->size(), 2U);
  EXPECT_EQ(*json->find("streak")->find("complete_days")->integer(), 2);
}

TEST(SiteAccountReport, names_of_users_steer_neither_terminals_nor_spreadsheets) {
  Case c(false);
  c.view.by = account::SiteBy::user;
  EXPECT_EQ(site_account_text(c.view, {}).find("ada\n<b>"), std::string::npos);
  c.view.by = account::SiteBy::account;
  const std::string csv = site_account_csv(c.view);
  EXPECT_NE(csv.find("'=cmd"), std::string::npos) << csv;
  EXPECT_NE(csv.find("energy_kwh"), std::string::npos);
}

}  // namespace
}  // namespace muster::report
