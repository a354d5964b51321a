// Money and carbon of energy: by the hour it was used, and by the peak it was part of.
#include "account/energy_money.h"

#include <gtest/gtest.h>

namespace muster::account {
namespace {

const Time kSunday{1'793'491'200'000'000'000};  // 2026-11-01T00:00Z, a Sunday

Tariff two_prices() {
  Tariff t;
  t.energy = {{"day", 0.20, 0xfff, 0x7f, 0x00ff00}, {"night", 0.10}};  // 8 to 16
  return t;
}

// One GPU at 1 kW with nothing else, from and to in hours.
EnergyBooks books(std::initializer_list<std::pair<int, int>> runs, double watts = 1000) {
  PowerReadings none;
  std::vector<GpuHold> holds;
  for (const auto& [from, to] : runs) {
    GpuHold h;
    h.job = std::to_string(holds.size());
    h.gpu_type = "x";
    h.started = kSunday + hours(from);
    h.ended = kSunday + hours(to);
    h.places = {{"n", 1000, {}}};
    holds.push_back(h);
  }
  EnergyOptions o;
  o.host_w = 0;
  o.watts = {{"x", watts, watts, watts, ""}};
  return energy_of(holds, none, o);
}

TEST(EnergyMoney, EachHourHasItsPrice) {
  EnergyRates r;
  r.tariff = two_prices();
  r.tariff->fees = 0.01;
  r.pue = 1.5;
  const EnergyBills b = bill_energy(books({{6, 10}}), r);
  EXPECT_NEAR(b.runs[0].kwh, 6.0, 1e-9);
  EXPECT_NEAR(b.runs[0].energy_cost, 1.5 * (2 * 0.11 + 2 * 0.21), 1e-9);
}

TEST(EnergyMoney, ThePriceFollowsTheZonesClocks) {
  EnergyRates r;
  r.tariff = two_prices();
  // Chicago: five hours behind UTC until 07:00 that day, six after.
  r.tariff->offsets = {{Time{0}, -5 * 3600}, {kSunday + hours(7), -6 * 3600}};
  EXPECT_DOUBLE_EQ(*price_at(r, kSunday + hours(13)), 0.10);  // 07:00, with the summer's clocks it would be 08:00
  EXPECT_DOUBLE_EQ(*price_at(r, kSunday + hours(14)), 0.20);
  EXPECT_DOUBLE_EQ(*price_at(r, kSunday + hours(21)), 0.20);
  EXPECT_DOUBLE_EQ(*price_at(r, kSunday + hours(22)), 0.10);
  const LocalHour before = local_hour(*r.tariff, kSunday + minutes(6 * 60 + 30));
  EXPECT_EQ(before.hour, 1u);
  EXPECT_EQ(local_hour(*r.tariff, kSunday + minutes(7 * 60 + 30)).hour, 1u);  // the hour comes twice
  EXPECT_EQ(local_hour(*r.tariff, kSunday + hours(2)).month, 9u);             // still October there
}

TEST(EnergyMoney, TheDemandChargeGoesToWhoDrewAtThePeak) {
  EnergyRates r;
  r.tariff = two_prices();
  r.tariff->demand = {{"any time", 12}};
  const EnergyBills b = bill_energy(books({{0, 720}, {5, 6}, {10, 20}, {15, 16}}), r);  // 30 days: all of November
  ASSERT_EQ(b.peaks.size(), 1u);
  EXPECT_NEAR(b.peaks[0].kw, 3, 1e-9);
  EXPECT_EQ(b.peaks[0].at, kSunday + hours(15));
  EXPECT_DOUBLE_EQ(b.peaks[0].seen, 1);
  EXPECT_NEAR(b.runs[0].demand_cost, 12, 1e-9);
  EXPECT_DOUBLE_EQ(b.runs[1].demand_cost, 0);
  EXPECT_NEAR(b.runs[2].demand_cost, 12, 1e-9);
  EXPECT_NEAR(b.runs[3].demand_cost, 12, 1e-9);
}

TEST(EnergyMoney, OfAMonthSeenInPartThatPartIsCharged) {
  EnergyRates r;
  r.tariff = two_prices();
  r.tariff->demand = {{"any time", 10}};
  const EnergyBills b = bill_energy(books({{0, 72}}), r);
  EXPECT_NEAR(b.peaks[0].seen, 0.1, 1e-9);
  EXPECT_NEAR(b.runs[0].demand_cost, 1, 1e-9);
}

TEST(EnergyMoney, ASeriesPricesItsHoursAndNoOthers) {
  EnergyRates r;
  r.price.begins = kSunday;
  r.price.actual = {50, 100};
  r.price.forecast = r.price.actual;
  r.carbon = r.price;
  r.carbon.actual = {300, 500};
  const EnergyBills b = bill_energy(books({{0, 4}}), r);
  EXPECT_NEAR(b.runs[0].energy_cost, 0.15, 1e-9);
  EXPECT_NEAR(b.runs[0].unpriced_kwh, 2, 1e-9);
  EXPECT_NEAR(b.runs[0].carbon_kg, 0.8, 1e-9);
  EXPECT_NEAR(b.runs[0].unknown_carbon_kwh, 2, 1e-9);
}

TEST(EnergyMoney, EmbodiedCarbonGoesByGpuHours) {
  EnergyRates r;
  r.carbon_flat = 400;
  r.embodied_g_per_gpu_h = 5;
  const EnergyBills b = bill_energy(books({{0, 10}}), r);
  EXPECT_NEAR(b.runs[0].carbon_kg, 4, 1e-9);
  EXPECT_NEAR(b.runs[0].embodied_kg, 0.05, 1e-12);
}

TEST(EnergyMoney, AMonthInWhichTheClocksChangeIsChargedWhole) {
  // Berlin: an hour ahead of UTC until 2027-03-28T01:00Z, two after. March 2027 has 743 hours there, October 745.
  const Time march{1'803'855'600'000'000'000};  // 2027-02-28T23:00Z
  EnergyRates r;
  r.tariff = two_prices();
  r.tariff->offsets = {{Time{0}, 3600}, {Time{1'806'195'600'000'000'000}, 7200}};
  r.tariff->demand = {{"any time", 10}};
  EnergyBooks b = books({{0, 743}});
  const std::int64_t later = quarter_of(march) - b.nobody.first;
  b.nobody.first += later;
  b.runs[0].first += later;
  const EnergyBills bills = bill_energy(b, r);
  ASSERT_EQ(bills.peaks.size(), 1u);
  EXPECT_DOUBLE_EQ(bills.peaks[0].seen, 1);
  EXPECT_NEAR(bills.peaks[0].charge, 10, 1e-9);
}

TEST(EnergyMoney, ARatchetChargesForTheHighestOfTheMonthsBefore) {
  EnergyRates r;
  r.tariff = two_prices();
  TariffRule rule{"", 10};
  rule.ratchet = 0.8;
  rule.ratchet_months = 2;
  r.tariff->demand = {rule};
  // November, December, January, February: 3 kW at their highest, then 1 kW.
  const EnergyBooks b = books({{0, 2880}, {10, 12}, {10, 12}});
  const EnergyBills bills = bill_energy(b, r);
  ASSERT_EQ(bills.peaks.size(), 4u);
  const double billed[] = {3, 2.4, 2.4, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(bills.peaks[i].billed_kw, billed[i], 1e-9) << i;
    EXPECT_NEAR(bills.peaks[i].charge, billed[i] * 10 * bills.peaks[i].seen, 1e-9) << i;
  }
  r.tariff->demand[0].earlier_peak_kw = 10;  // of the months before: two months long
  const EnergyBills after = bill_energy(b, r);
  const double with_earlier[] = {8, 8, 2.4, 1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(after.peaks[i].billed_kw, with_earlier[i], 1e-9) << i;
  double charged = after.nobody.demand_cost, all = 0;
  for (const EnergyBill& bill : after.runs) charged += bill.demand_cost;
  for (const DemandPeak& p : after.peaks) all += p.charge;
  EXPECT_NEAR(charged, all, 1e-9);
}

}  // namespace
}  // namespace muster::account
