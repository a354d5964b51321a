#include "report/flow_account.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr NodeId kN0{0}, kN1{1};

// Four nodes for a day and a half: one job in two prices, one that a fault ended, one node out of service.
struct Kept {
  Kept() : t(4) {
    Event e;
    e.utc = t.now().utc;
    e.body = SiteDeclared{t.s.site};
    take(e);
    t.heard = [this](const Event& x) { take(x); };
    price(2);
    before = books.close(t.s, t.s.mono());
    JobSpec spec;
    spec.name = "train";
    spec.user = "ada";
    spec.account = "phys";
    submit(JobId{700, 0}, spec);
    t.tell(JobStarted{JobId{700, 0}, 1, {kN0}});
    spec.account = "bio";
    submit(JobId{701, 0}, spec);
    t.tell(JobStarted{JobId{701, 0}, 1, {kN1}});
    t.pass(hours(12));
    t.open(t.find(FindingKind::gpu_lost, kN1, 3));
    t.tell(JobEnded{JobId{701, 0}, 1, JobEnd::node_failed, {100, 0, 3'600'000, 0, 0, 0}, "rank lost"});
    t.pass(hours(12));
    stretch(0);
    price(4);
    t.pass(hours(12));
    t.tell(JobProgressed{JobId{700, 0}, 1, {100, 100, 0, 0, 0, 1}});
    stretch(1);
  }
  Kept(const Kept&) = delete;
  void take(const Event& e) {
    flow.take(e, t.s);
    books.take(e, t.s);
  }
  void submit(JobId id, const JobSpec& spec) { t.tell(JobSubmitted{id, spec}); }
  void price(double p) {
    Policy policy = t.s.policy;
    policy.gpu_hour_price = p;
    policy.currency = "EUR";
    t.tell(PolicyApplied{policy, "h" + std::to_string(p)});
  }
  void stretch(std::uint32_t tariff) {
    const account::JobSums now = books.close(t.s, t.s.mono());
    faults.push_back({tariff, account::difference(before, now)});
    before = now;
  }
  Value told(FlowBy by, FlowOnly only = {}) {
    FlowAccount a;
    a.only = std::move(only);
    a.cluster = "small";
    a.flow = flow.close(t.s, t.s.mono(), t.s.now.utc);
    a.faults = faults;
    return parse_json(flow_account_json(a, by)).value();
  }

  Story t;
  account::Waterfall flow;
  account::JobBooks books;
  account::JobSums before;
  std::vector<FaultStretch> faults;
};

double of(const Value& v, std::string_view object, std::string_view key) { return number_of(*v.find(object), key).value_or(-1); }

TEST(FlowAccount, MoneyIsThatOfTheTimeItWasSpentIn) {
  Kept k;
  const Value v = k.told(FlowBy::account);
  EXPECT_EQ(number_of(v, "gpu_hours"), 32 * 36);
  EXPECT_EQ(of(v, "rates", "cost"), 32 * (24 * 2 + 12 * 4));
  EXPECT_EQ(text_of(*v.find("rates"), "currency"), "EUR");
  EXPECT_DOUBLE_EQ(of(v, "rates", "owned_per_gpu_hour"), 96.0 / 36);
  EXPECT_EQ(of(v, "classes_gpu_hours", "useful"), 8 * 36);
  EXPECT_EQ(of(v, "classes_cost", "useful"), 8 * (24 * 2 + 12 * 4)) << "though all of it was booked at the later price";
  EXPECT_EQ(of(v, "classes_gpu_hours", "lost_restart"), 8 * 11);
  EXPECT_EQ(of(v, "classes_gpu_hours", "starting"), 8);
  EXPECT_EQ(of(v, "classes_gpu_hours", "down"), 8 * 24);
  EXPECT_EQ(list_of(v, "prices").size(), 2U);
  std::int64_t sum = 0;
  for (const Value::Member& m : *v.find("classes_milli_gpu_ms")->object()) sum += *m.value.integer();
  EXPECT_EQ(sum, *v.find("installed_milli_gpu_ms")->integer());
}

TEST(FlowAccount, RowsSumToAllWhateverTheyAreBy) {
  Kept k;
  for (const FlowBy by : {FlowBy::account, FlowBy::partition, FlowBy::user, FlowBy::gpu_type, FlowBy::job, FlowBy::day}) {
    const Value v = k.told(by);
    double hours = 0, cost = 0;
    for (const Value& r : list_of(v, "rows")) {
      hours += number_of(r, "gpu_hours").value_or(0);
      cost += number_of(r, "cost").value_or(0);
    }
    EXPECT_NEAR(hours, 32 * 36, 1e-6) << names(by)[static_cast<std::size_t>(by)];
    EXPECT_NEAR(cost, of(v, "rates", "cost"), 1e-6) << names(by)[static_cast<std::size_t>(by)];
  }
}

TEST(FlowAccount, WhatAClassOfARowCostIsAtThePricesOfItsTime) {
  Kept k;
  const Value v = k.told(FlowBy::account);
  const Value& phys = list_of(v, "rows")[0];
  EXPECT_EQ(text_of(phys, "name"), "phys");
  EXPECT_EQ(of(phys, "classes_cost", "useful"), 8 * (24 * 2 + 12 * 4)) << "not 8 * 36 at the mean price";
  EXPECT_EQ(phys.find("classes_cost")->find("down"), nullptr) << "what it had none of";
  for (const Value& r : list_of(v, "rows")) {
    double sum = 0;
    for (const Value::Member& m : *r.find("classes_cost")->object()) sum += number_of(*r.find("classes_cost"), m.key).value_or(0);
    EXPECT_NEAR(sum, number_of(r, "cost").value_or(-1), 1e-9) << text_of(r, "name");
  }
}

TEST(FlowAccount, RowsOfOneAccountAloneSumToItsOwn) {
  Kept k;
  const Value all = k.told(FlowBy::account);
  for (const Value& row : list_of(all, "rows")) {
    if (*row.find("no_job")->boolean()) continue;
    FlowOnly only;
    only.account = text_of(row, "name");
    for (const FlowBy by : {FlowBy::account, FlowBy::partition, FlowBy::user, FlowBy::gpu_type, FlowBy::job, FlowBy::day}) {
      const Value v = k.told(by, only);
      double hours = 0, cost = 0;
      for (const Value& r : list_of(v, "rows")) {
        EXPECT_FALSE(*r.find("no_job")->boolean());
        hours += number_of(r, "gpu_hours").value_or(0);
        cost += number_of(r, "cost").value_or(0);
      }
      EXPECT_NEAR(hours, number_of(row, "gpu_hours").value_or(-1), 1e-6) << names(by)[static_cast<std::size_t>(by)];
      EXPECT_NEAR(cost, number_of(row, "cost").value_or(-1), 1e-6) << names(by)[static_cast<std::size_t>(by)];
      EXPECT_EQ(number_of(v, "gpu_hours"), 32 * 36) << "the cluster's own sums stay";
      EXPECT_EQ(text_of(*v.find("only"), "account"), text_of(row, "name"));
    }
  }
  FlowOnly nobody;
  nobody.user = "eve";
  EXPECT_TRUE(list_of(k.told(FlowBy::job, nobody), "rows").empty());
}

TEST(FlowAccount, FaultsHaveWhatTheyTook) {
  Kept k;
  const Value v = k.told(FlowBy::fault);
  const auto& rows = list_of(v, "rows");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(text_of(rows[0], "name"), "gpu_lost");
  EXPECT_EQ(text_of(rows[0], "origin"), "fault");
  EXPECT_EQ(number_of(rows[0], "attempts_lost"), 1);
  EXPECT_EQ(number_of(rows[0], "lost_gpu_hours"), 8 * 11);
  EXPECT_EQ(number_of(rows[0], "starts_in_vain"), 1);
  EXPECT_EQ(number_of(rows[0], "vain_gpu_hours"), 8);
  EXPECT_EQ(number_of(rows[0], "out_gpu_hours"), 8 * 24);
  EXPECT_EQ(number_of(rows[0], "cost"), 8 * (12 * 2) + 8 * (12 * 2 + 12 * 4));
  const std::string text = render_flow_account(v, 20, {});
  EXPECT_NE(text.find("gpu_lost"), std::string::npos) << text;
}

TEST(FlowAccount, AGangThatAFaultSlowedIsInTheTableWithItsPrice) {
  Kept k;
  k.t.open(k.t.find(FindingKind::clock_drop, kN0));
  k.t.pass(hours(4));
  k.t.tell(JobProgressed{JobId{700, 0}, 1, {140, 140, 0, 0, 3'600'000, 2}});
  k.stretch(1);
  const Value v = k.told(FlowBy::fault);
  const auto& rows = list_of(v, "rows");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(text_of(rows[1], "name"), "clock_drop");
  EXPECT_EQ(number_of(rows[1], "slowed_gpu_hours"), 8);
  EXPECT_EQ(number_of(rows[1], "gpu_hours"), 8);
  EXPECT_EQ(number_of(rows[1], "cost"), 8 * 4);
  EXPECT_EQ(number_of(v, "slow_unexplained_gpu_hours"), 0);
  k.t.pass(hours(4));
  k.t.tell(JobProgressed{JobId{700, 0}, 1, {150, 150, 0, 0, 2 * 3'600'000, 3}});
  EXPECT_EQ(of(k.told(FlowBy::fault), "classes_gpu_hours", "stalled"), 16);
}

TEST(FlowAccount, WhereTheCalendarIsAnotherTimeThanWasCountedThatIsSaid) {
  Kept k;
  const auto noted = [&](std::string_view words) {
    const Value v = k.told(FlowBy::account);
    const auto& notes = list_of(v, "notes");
    return std::any_of(notes.begin(), notes.end(), [&](const Value& n) { return n.string()->find(words) != std::string::npos; });
  };
  EXPECT_FALSE(noted("GPU-hours between these moments"));
  k.t.set_clock(hours(2));
  k.t.pass(hours(1));
  EXPECT_TRUE(noted("64.00 GPU-hours between these moments were not counted"));
  k.t.set_clock(hours(-5));
  k.t.pass(hours(1));
  EXPECT_TRUE(noted("96.00 GPU-hours more than these moments are apart"));
  k.t.tell(SiteDeclared{k.t.s.site});
  k.t.pass(hours(1));
  EXPECT_TRUE(noted("declared anew"));
}

TEST(FlowAccount, TextAndCsvShowWhatTheObjectHas) {
  Kept k;
  const Value v = k.told(FlowBy::account);
  const std::string text = render_flow_account(v, 20, {});
  EXPECT_NE(text.find("small from 2026-01-01T00:00:00Z to 2026-01-02T12:00:00Z: 32 GPUs, 1,152.0 GPU-hours installed."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("held_idle"), std::string::npos);
  EXPECT_NE(text.find("not seen"), std::string::npos);
  EXPECT_NE(text.find("(no job)"), std::string::npos);
  const std::string csv = render_flow_account_csv(v);
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "account,jobs,gpu_hours,efficiency,cost,down_gpu_hours,drained_gpu_hours,idle_no_demand_gpu_hours,"
            "idle_fragmented_gpu_hours,held_idle_gpu_hours,starting_gpu_hours,checkpoint_gpu_hours,lost_restart_gpu_hours,"
            "stalled_gpu_hours,unseen_gpu_hours,unsettled_gpu_hours,useful_gpu_hours");
}

}  // namespace
}  // namespace muster::report
