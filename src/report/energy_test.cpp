// The report of energy: its sums, its steps, its notes.
#include "report/energy.h"

#include <gtest/gtest.h>

#include "ingest/csv.h"
#include "ingest/json.h"
#include "report/energy_notes.h"

namespace muster::report {
namespace {

const Time kBegin{1'793'491'200'000'000'000};  // 2026-11-01T00:00Z

GpuHold hold(std::string job, std::string account, std::int64_t gpus, int from_h, int to_h) {
  GpuHold h;
  h.job = std::move(job);
  h.user = "ada";
  h.account = std::move(account);
  h.gpu_type = "h200";
  h.started = kBegin + hours(from_h);
  h.ended = kBegin + hours(to_h);
  h.places = {{"n1", gpus * 1000, {}}};
  return h;
}

EnergyReport report_of(std::vector<GpuHold> runs) {
  EnergyReport r;
  r.runs = std::move(runs);
  account::EnergyOptions o;
  o.host_w = r.host_w = 250;
  o.watts = {{"h200", 100, 500, 700, ""}};
  r.rates.pue = 1.2;
  r.rates.carbon_flat = 400;
  r.rates.tariff = Tariff{};
  r.rates.tariff->synthetic = true;
  r.rates.tariff->name = "example";
  r.rates.tariff->energy = {{"", 0.10}};
  r.books = account::energy_of(r.runs, {}, o);
  r.bills = account::bill_energy(r.books, r.rates);
  return r;
}

TEST(EnergyReport, RowsSumToAllOfIt) {
  EnergyReport r = report_of({hold("1", "a", 8, 0, 2), hold("2", "b", 4, 1, 5), hold("3", "a", 8, 6, 7)});
  r.by = EnergyBy::account;
  const auto rows = energy_rows(r);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "a");
  EXPECT_EQ(rows[0].runs, 2u);
  EXPECT_NEAR(rows[0].gpu_kwh(), 12, 1e-9);
  EXPECT_NEAR(rows[0].bill.kwh, 12 * 1.5 * 1.2, 1e-9);
  EXPECT_NEAR(rows[2].bill.kwh, rows[0].bill.kwh + rows[1].bill.kwh, 1e-9);
  EXPECT_NEAR(rows[0].bill.energy_cost, rows[0].bill.kwh * 0.10, 1e-9);
  EXPECT_NEAR(rows[0].bill.carbon_kg, rows[0].bill.kwh * 0.4, 1e-9);
  EXPECT_DOUBLE_EQ(rows[0].measured(), 0);
}

TEST(EnergyReport, TokensAreOfAJobAndAllItsRunsTookEnergyForThem) {
  std::vector<GpuHold> runs = {hold("1", "a", 8, 0, 2), hold("1", "a", 8, 3, 4), hold("2", "a", 8, 3, 4)};
  runs[0].tokens = 1e9;
  const auto rows = energy_rows(report_of(runs));
  EXPECT_EQ(rows[0].name, "1");
  EXPECT_NEAR(rows[0].token_kwh, rows[0].bill.kwh, 1e-9);
  EXPECT_NEAR(rows.back().token_kwh, rows[0].bill.kwh, 1e-9);
}

TEST(EnergyReport, WhatIsEstimatedOrMadeUpIsSaid) {
  const std::string text = render_energy_text(report_of({hold("1", "a", 8, 0, 2)}), {});
  EXPECT_NE(text.find("100.0 % estimated"), std::string::npos) << text;
  EXPECT_NE(text.find("MADE UP"), std::string::npos);
  EXPECT_NE(text.find("if they had idled 1.600"), std::string::npos) << text;
  EXPECT_NE(text.find("assumed: --host-watts"), std::string::npos);
}

TEST(EnergyReport, TheJsonIsWholeAndNamesItsUnits) {
  const std::string json = render_energy_json(report_of({hold("1", "a", 8, 0, 2)}));
  const auto v = parse_json(json);
  ASSERT_TRUE(v.has_value());
  EXPECT_EQ(*v->find("kind")->string(), "EnergyReport");
  double kwh = 0;
  ASSERT_TRUE(v->find("all")->find("site_kwh")->number(kwh));
  EXPECT_NEAR(kwh, 14.4, 1e-9);
}

TEST(EnergyReport, HostileNamesDoNotReachTheTerminal) {
  const std::string text = render_energy_text(report_of({hold("1\x1b[31m", "a", 8, 0, 2)}), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(EnergyReport, ASheetSaysWhatItsFiguresRestUpon) {
  std::vector<GpuHold> runs = {hold("1", "a", 8, 0, 2), hold("2", "a", 8, 2, 3)};
  runs[0].tokens = 1e9;
  runs[1].gpu_type = "x9000";
  runs[1].tokens = 1e9;
  const auto csv = parse_csv(render_energy_csv(report_of(runs)), "e.csv");
  ASSERT_TRUE(csv.has_value()) << csv.error().what;
  ASSERT_EQ(csv->rows.size(), 2u);
  EXPECT_EQ(csv->cell(0, "measured_share"), "0");
  EXPECT_EQ(csv->cell(0, "estimated_gpu_kwh"), csv->cell(0, "gpu_kwh"));
  EXPECT_EQ(csv->cell(0, "assumed_host_kwh"), csv->cell(0, "host_kwh"));
  EXPECT_EQ(csv->cell(0, "unknown_gpu_hours"), "0");
  EXPECT_EQ(csv->cell(0, "pue_assumed"), "true");
  EXPECT_EQ(csv->cell(0, "tariff_made_up"), "true");
  EXPECT_NE(csv->cell(0, "joules_per_token"), "");
  EXPECT_EQ(csv->cell(1, "gpu_kwh"), "");  // not known, which is not 0
  EXPECT_EQ(csv->cell(1, "unknown_gpu_hours"), "8");
  EXPECT_EQ(csv->cell(1, "joules_per_token"), "");
}

TEST(EnergyReport, JobsWithoutTokensAreNamed) {
  std::vector<GpuHold> runs = {hold("1", "a", 8, 0, 2), hold("2", "a", 8, 2, 3)};
  EXPECT_EQ(render_energy_text(report_of(runs), {}).find("tokens are missing"), std::string::npos);
  runs[0].tokens = 1e9;
  const std::string text = render_energy_text(report_of(runs), {});
  EXPECT_NE(text.find("tokens are missing of 1 of 2 jobs (job 2), which took 7.200 kWh"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster::report
