#include "report/cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ingest/cost_file.h"
#include "ingest/json.h"
#include "report/burst.h"
#include "report/price_flags.h"
#include "report/rent_or_own.h"
#include "report/units.h"

namespace muster::report {
namespace {

CostSide side(const CostSite& s) { return {s, predict::yearly_cost(s), predict::uncertain_cost(s, 1, 500)}; }
CostView view(const std::vector<CostSetting>& settings = {}) {
  const CostSite s = *shipped_cost_site("h200-1024-colo");
  CostView v{side(s), {}, settings, 1};
  if (!settings.empty()) v.changed = side(*change_cost_site(s, settings));
  return v;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// 1,024 H200 at 39,000 USD: a figure that was worked out apart from this program.
TEST(Cost, TheWorkedExampleComesOut) {
  const predict::YearlyCost c = view().base.cost;
  EXPECT_NEAR(c.usd_a_year, 19.0e6, 0.19e6);
  EXPECT_NEAR(c.rate(predict::GpuHour::allocated), 2.50, 0.025) << "of a GPU-hour that is used";
  const std::pair<CostClass, int> shares[] = {{CostClass::gpus, 51},   {CostClass::facility, 11}, {CostClass::people, 11},
                                              {CostClass::network, 9}, {CostClass::energy, 5},    {CostClass::software, 5},
                                              {CostClass::repairs, 5}, {CostClass::storage, 4}};
  for (const auto& [of, percent] : shares) EXPECT_EQ(std::lround(100 * c.of(of) / c.usd_a_year), percent) << cost_word(of);
}

TEST(Cost, ItsTextHasSharesRatesAndWhatIsAssumed) {
  const std::string text = cost_text(view(), {});
  for (const char* part :
       {"GPUs", "51 %", "hall", "together", "19,045,627", "allocated", "2.50", "useful", "assumed:", "PUE 1.40 (air)"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  EXPECT_FALSE(has(text, "CHANGED"));
  EXPECT_TRUE(has(cost_text(view(), {.wide = true}), "transceivers")) << "wide shows what was bought";
}

TEST(Cost, AWhatIfStandsBesideTheBaseWithItsDifference) {
  const CostView v = view({{"cooling", "liquid"}, {"gpu_price", "30000"}});
  const std::string text = cost_text(v, {});
  EXPECT_TRUE(has(text, "changed: cooling liquid, gpu_price 30000"));
  EXPECT_TRUE(has(text, "DIFFERENCE"));
  EXPECT_TRUE(has(text, "PUE 1.15 is what is usual with liquid cooling")) << text;
  const auto json = parse_json(cost_json(v));
  ASSERT_TRUE(json);
  const double before = *number_of(*json->find("base"), "usd_a_year"), after = *number_of(*json->find("changed"), "usd_a_year");
  EXPECT_LT(after, before);
  EXPECT_NEAR(*number_of(*json->find("difference"), "usd_a_year"), after - before, 1e-6);
}

TEST(Cost, RangesGiveBands) {
  const CostView v = view({{"gpu_price", "32000/39000/45000"}});
  EXPECT_TRUE(has(cost_text(v, {}), "P90"));
  EXPECT_TRUE(has(cost_text(v, {}), "moves most a useful GPU-hour"));
  const auto json = parse_json(cost_json(v));
  ASSERT_TRUE(json);
  const Value* band = json->find("changed")->find("rates")->find("useful")->find("usd_per_gpu_hour_band");
  ASSERT_TRUE(band);
  EXPECT_LT(*number_of(*band, "p10"), *number_of(*band, "p90"));
  EXPECT_FALSE(json->find("base")->find("usd_a_year_band")) << "nothing of it is uncertain";
}

TEST(Cost, SharesOfTheJsonSumToOneAndItemsToTheTotal) {
  const auto json = parse_json(cost_json(view()));
  ASSERT_TRUE(json);
  EXPECT_EQ(text_of(*json, "kind"), "Cost");
  double shares = 0, items = 0;
  for (const auto& m : *json->find("base")->find("shares")->object()) {
    double d = 0;
    m.value.number(d);
    shares += d;
  }
  for (const Value& i : list_of(*json->find("base"), "items")) items += *number_of(i, "usd_a_year");
  EXPECT_NEAR(shares, 1, 1e-12);
  EXPECT_NEAR(items, *number_of(*json->find("base"), "usd_a_year"), 1e-6);
}

TEST(Cost, CsvHasItemsTotalAndRates) {
  const std::string csv = cost_csv(view());
  EXPECT_TRUE(has(csv, "part,name,usd,"));
  for (const char* part : {"\nitem,InfiniBand switches,", "\ntotal,together,", "\nrate,useful,"})
    EXPECT_TRUE(has(csv, part)) << csv;
}

RentOrOwnView compared(double usd, bool drawn) {
  RentOrOwnView v;
  v.site = *shipped_cost_site("h200-1024-colo");
  v.gpu = "h200";
  v.term = "ondemand";
  predict::RentOrOwnAsk ask;
  ask.site = v.site;
  ask.usd_per_gpu_hour = usd;
  ask.draws = 200;
  if (drawn) ask.moves = {{0, 0.1, -0.1, 0, 0.05, -0.05}};
  v.series = drawn ? 1 : 0;
  v.months = drawn ? 6 : 0;
  v.cases.push_back({"aws", "p5en.48xlarge", "2026-08-22", usd, false, *predict::rent_or_own(ask), ""});
  return v;
}

TEST(RentOrOwnReport, OneCloudHasItsVerdictAndItsCourse) {
  const std::string text = rent_or_own_text(compared(8.5, true), false, false);
  for (const char* part : {"Against aws at 8.50 USD, owning has cost less from month", "NEVER", "rented, P90", "month 60",
                           "6 months of one series, three months at a time"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  EXPECT_TRUE(has(rent_or_own_text(compared(0.3, false), false, false), "owning never costs less"));
  EXPECT_TRUE(has(rent_or_own_text(compared(2.4, false), false, false), "when its 60 months are over"));
}

TEST(RentOrOwnReport, AMonthBeyondTheLifeIsInBrackets) {
  const std::string text = rent_or_own_text(compared(2.4, false), false, false);
  EXPECT_TRUE(has(text, " (")) << text;
  EXPECT_TRUE(has(text, "(Months) in brackets lie beyond those looked ahead.")) << text;
  EXPECT_FALSE(has(rent_or_own_text(compared(8.5, false), false, false), "in brackets"));
}

// With interest the rented line must cross the owned one in the month that is told.
TEST(RentOrOwnReport, TheCourseCrossesInTheMonthThatIsTold) {
  const RentOrOwnView v = compared(3.99, false);
  const Panel p = rent_or_own_chart(v, v.cases.front()).panels.front();
  ASSERT_EQ(p.lines.size(), 2U);
  const auto month = static_cast<std::size_t>(v.cases.front().answer.at_constant);
  EXPECT_LT(p.lines[1].values[month], p.lines[0].values[month]);
  EXPECT_GE(p.lines[1].values[month + 1], p.lines[0].values[month + 1]);
}

TEST(RentOrOwnReport, WhatWasTakenOffOrIsNotComparableIsTold) {
  RentOrOwnView v = compared(3.99, false);
  v.discounts = "20 % of renting";
  v.gpu = "l40s";
  v.asked_gpu_hours = 1e6;
  v.cases.front().flags = "far_off converted";
  v.cases.front().stale = true;
  const std::string text = rent_or_own_text(v, false, false);
  for (const char* part :
       {"Off list prices, in every figure here: 20 % of renting.", "an hour of h200 is compared with an hour of l40s",
        "1,000,000 GPU-hours a month were asked for", "2026-08-22 (far_off, converted, stale)"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

TEST(Cost, WhatAFileIsSilentOfIsTold) {
  EXPECT_FALSE(has(cost_text(view(), {}), "nothing is counted")) << "the worked example has all of it";
  const auto s = parse_cost_site("name: a\nas_of: 2026-11-01\ngpus: 8\ngpu_price: 30000\n", "s.yaml");
  ASSERT_TRUE(s);
  const CostView v{side(*s), {}, {}, 1};
  const std::string text = cost_text(v, {});
  EXPECT_TRUE(has(text, "nothing is counted for network, storage, hall, energy, people, software, repairs:")) << text;
  EXPECT_TRUE(has(text, "every hour that is owned counts as useful")) << text;
  EXPECT_EQ(list_of(*parse_json(cost_json(v))->find("base"), "not_counted").size(), 7U);
  const auto euros = parse_cost_site(
      "name: a\nas_of: 2026-11-01\ncurrency: EUR\nexchange: {usd: 1.1, as_of: 2026-10-30}\ngpus: 8\ngpu_price: 30000\n",
      "s.yaml");
  ASSERT_TRUE(euros) << euros.error().what;
  const CostView e{side(*euros), {}, {}, 1};
  EXPECT_TRUE(has(cost_text(e, {}), "the file is in EUR, at 1.1 USD of 2026-10-30"));
  EXPECT_NEAR(e.base.cost.usd_a_year, 1.1 * v.base.cost.usd_a_year, 1e-6);
  EXPECT_EQ(text_of(*parse_json(cost_json(e))->find("converted_from"), "currency"), "EUR");
}

TEST(RentOrOwnReport, WhatIsNeverIsNullInJson) {
  const auto json = parse_json(rent_or_own_json(compared(0.3, false)));
  ASSERT_TRUE(json);
  const Value& one = list_of(*json, "items").front();
  EXPECT_TRUE(one.find("break_even_months")->is_null());
  EXPECT_EQ(list_of(one, "own_usd").size(), 61U);
  EXPECT_TRUE(has(rent_or_own_csv(compared(8.5, true)), "p5en.48xlarge"));
  const std::string late = rent_or_own_csv(compared(2.4, false));
  EXPECT_FALSE(has(late, "(")) << "numbers alone: " << late;
  EXPECT_TRUE(has(late, ",false,,60,"));
  EXPECT_TRUE(has(rent_or_own_csv(compared(0.3, false)), ",false,,60,,,,,,")) << "never is an empty month";
}

TEST(BurstReport, TheVerdictSaysByHowMuchAndWhereItTurns) {
  BurstView v;
  v.ask.gpu_hours = 10'000;
  v.ask.gpus = 100;
  v.ask.usd_per_gpu_hour = 3;
  v.ask.data_tb = 20;
  v.ask.link_gbit_s = 10;
  v.ask.own_gpus = 50;
  v.ask.queue_hours = 100;
  v.ask.by_hours = 150;
  v.answer = *predict::burst(v.ask);
  v.from = parse_utc("2026-11-20T00:00:00Z");
  v.own_free = true;
  const std::string text = burst_text(v, false);
  EXPECT_TRUE(has(text, "an hour of one's own GPUs is taken to cost nothing")) << text;
  v.own_free = false;
  EXPECT_FALSE(has(burst_text(v, false), "to cost nothing"));
  for (const char* part : {"Renting wins: 30,000 USD", "too late", "TB of data", "2026-11-2"})
    EXPECT_TRUE(has(text, part)) << text;
  const auto json = parse_json(burst_json(v));
  ASSERT_TRUE(json);
  EXPECT_EQ(text_of(*json, "best"), "rent");
  EXPECT_EQ(list_of(*json, "items").size(), 2U);
}

TEST(PriceReport, NamesRowsAndCountsKinds) {
  RentalPrices p;
  p.form = "snapshot";
  p.read = 3;
  p.left_out = 1;
  p.kept = 2;
  p.rows.resize(2);
  p.flags.push_back({7, "azure x (12 x H100)", PriceTrap::impossible_count, "listed with 12", "kept with flag"});
  EXPECT_EQ(price_summary(p), "3 rows read (snapshot), 1 left out, 2 kept; 1 flag: 1 impossible_count");
  p.kept = 5;
  p.gpuless = 1;
  EXPECT_TRUE(
      has(price_summary(p), "1 left out (1 of them without a GPU), 5 kept as 2 machines, each at the median of its places"));
  EXPECT_TRUE(has(render_table(price_flags(p), {}), "azure x (12 x H100)"));
  EXPECT_TRUE(parse_json(price_json(p)));
}

}  // namespace
}  // namespace muster::report
