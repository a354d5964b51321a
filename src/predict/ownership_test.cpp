#include "predict/ownership.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster::predict {
namespace {

TEST(Ownership, OwningAgainstRenting) {
  const Ownership own{100'000, 0, 1000};
  EXPECT_DOUBLE_EQ(break_even_price(own, 10, 1000), 11);
  EXPECT_DOUBLE_EQ(break_even_months(own, 11, 1000), 10) << "the two agree";
  EXPECT_TRUE(std::isinf(break_even_months(own, 0.5, 1000))) << "running it costs more than renting";
  EXPECT_NEAR(owned_gpu_hour(own, 48, 8, 0.5), 2 * owned_gpu_hour(own, 48, 8, 1), 1e-12);
  EXPECT_NEAR(break_even_utilisation(own, 48, 8, owned_gpu_hour(own, 48, 8, 0.7)), 0.7, 1e-12);
  EXPECT_NEAR(pue_saving_usd(12.75, 1.55, 1.30, 0.06), 1.675e6, 1e3);
}

TEST(Ownership, AnAnnuityPaysTheLoanBackWithItsInterest) {
  EXPECT_DOUBLE_EQ(annuity(0, 4), 0.25);
  const double r = annuity(0.08, 5);
  double owed = 1;
  for (int year = 0; year < 5; ++year) owed = owed * 1.08 - r;
  EXPECT_NEAR(owed, 0, 1e-12);
}

// 100 GPUs in nodes of four; every number is round.
CostSite site() {
  CostSite s;
  s.gpus = 100;
  s.node_gpus = 4;
  s.gpu_price = 10'000;
  s.years = 5;
  s.availability = 0.9;
  s.utilisation = 0.8;
  s.goodput = 0.5;
  s.idle_kw = 1;
  s.busy_kw = 3;
  s.nameplate_kw = 4;
  s.other_kw = 10;
  s.pue = Estimate(1.5);
  s.usd_per_kwh = 0.1;
  return s;
}

double line(const YearlyCost& c, std::string_view name) {
  for (const CostLine& l : c.lines) {
    if (l.name == name) return l.usd_a_year;
  }
  return 0;
}

TEST(Ownership, WithoutInterestAPriceIsSpreadOverItsYears) {
  const YearlyCost c = yearly_cost(site());
  EXPECT_NEAR(c.of(CostClass::gpus), 200'000, 1e-6);
  EXPECT_NEAR(c.it_kw, 25 * (1 + 2 * 0.8) + 10, 1e-9) << "from idle to busy by what is allocated";
  EXPECT_NEAR(c.of(CostClass::energy), 75 * 1.5 * 8760 * 0.1, 1e-6);
  EXPECT_NEAR(c.peak_kw, (25 * 3 + 10) * 1.5, 1e-9);
  EXPECT_NEAR(c.usd_a_year, c.of(CostClass::gpus) + c.of(CostClass::energy), 1e-6);
  EXPECT_DOUBLE_EQ(c.capital_usd, 1e6);
  EXPECT_NEAR(c.operating_usd_a_year, c.of(CostClass::energy), 1e-6);
}

TEST(Ownership, EachOfTheFourHoursIsAPartOfTheOneBefore) {
  const YearlyCost c = yearly_cost(site());
  EXPECT_DOUBLE_EQ(c.gpu_hours[0], 876'000);
  EXPECT_DOUBLE_EQ(c.gpu_hours[1], 876'000 * 0.9);
  EXPECT_DOUBLE_EQ(c.gpu_hours[2], 876'000 * 0.8) << "of what is owned, not of what is delivered";
  EXPECT_DOUBLE_EQ(c.gpu_hours[3], 876'000 * 0.4);
  for (std::size_t k = 0; k < kGpuHourKinds; ++k)
    EXPECT_NEAR(c.rate(static_cast<GpuHour>(k)) * c.gpu_hours[k], c.usd_a_year, 1e-6);
}

TEST(Ownership, EveryItemIsCountedOnce) {
  CostSite s = site();
  s.residual = 0.1;
  s.spares = 0.05;
  s.demand_usd_per_kw_month = 10;
  s.hall_usd_per_kw_month = 100;
  s.people = 2;
  s.usd_per_person = 50'000;
  s.software_usd_per_gpu = 100;
  s.failures_a_year = 0.1;
  s.part_usd = 10'000;
  s.warranty = 0.25;
  s.hours_down = 10;
  s.gpus_down = 4;
  s.usd_per_gpu_hour_down = 2;
  s.capital.push_back({"switches", CostClass::network, 1000, 20, 4, 0, 0.1});
  const YearlyCost c = yearly_cost(s);
  EXPECT_NEAR(c.of(CostClass::gpus), (1.05e6 - 1e5) / 5, 1e-6) << "spares are used up, and bring nothing in the end";
  EXPECT_NEAR(c.of(CostClass::network), 22'000 / 4.0, 1e-6) << "an item may live as long as it does";
  EXPECT_NEAR(line(c, "peak power"), 85 * 1.5 * 10 * 12, 1e-6);
  EXPECT_NEAR(c.of(CostClass::facility), (25 * 4 + 10) * 100 * 12, 1e-6) << "by the nameplates";
  EXPECT_NEAR(c.of(CostClass::people), 100'000, 1e-6);
  EXPECT_NEAR(c.of(CostClass::software), 10'000, 1e-6);
  EXPECT_NEAR(c.of(CostClass::repairs), 10 * 10'000 * 0.75 + 10 * 10 * 4 * 2, 1e-6);
  double sum = 0;
  for (const CostLine& l : c.lines) sum += l.usd_a_year;
  EXPECT_NEAR(sum, c.usd_a_year, 1e-6);
  s.hall_includes_power = true;
  EXPECT_EQ(yearly_cost(s).of(CostClass::energy), 0) << "an all-in hall bills power with its space";
}

TEST(Ownership, InterestIsPaidOnWhatIsBoughtAndEarnedOnWhatIsLeft) {
  CostSite s = site();
  s.interest = 0.08;
  s.residual = 0.1;
  const double r = annuity(0.08, 5);
  EXPECT_NEAR(yearly_cost(s).of(CostClass::gpus), 1e6 * r - 1e5 * r / std::pow(1.08, 5), 1e-3);
}

TEST(Ownership, LiquidTakesTheFansTooWhichAPueDoesNotShow) {
  CostSite s = site();
  s.pue.reset();
  s.fans_kw = 0.5;
  const YearlyCost air = yearly_cost(s);
  s.cooling = Cooling::liquid;
  const YearlyCost liquid = yearly_cost(s);
  EXPECT_NEAR(air.it_kw - liquid.it_kw, 25 * 0.5 * 0.8, 1e-9);
  EXPECT_LT(liquid.pue, air.pue);
  EXPECT_GT(air.kwh - liquid.kwh, air.it_kw * (air.pue - liquid.pue) * kHoursAYear) << "more than the PUE alone tells";
}

TEST(Ownership, WhatIsUncertainGivesBandsThatHoldTheLikeliest) {
  CostSite s = site();
  EXPECT_EQ(uncertain_cost(s, 1, 1000).draws, 0U) << "nothing is drawn where all is known";
  s.gpu_price = Estimate(8'000, 10'000, 15'000);
  s.usd_per_kwh = Estimate(0.09, 0.1, 0.11);
  const UncertainCost u = uncertain_cost(s, 1, 4000);
  const double likely = yearly_cost(s).usd_a_year;
  EXPECT_LT(u.usd_a_year.p10, u.usd_a_year.p50);
  EXPECT_LT(u.usd_a_year.p50, u.usd_a_year.p90);
  EXPECT_LT(u.usd_a_year.p10, likely);
  EXPECT_GT(u.usd_a_year.p90, likely);
  ASSERT_EQ(u.swings.size(), 2U);
  EXPECT_EQ(u.swings[0].key, "gpu_price") << "the one that matters most is first";
  EXPECT_EQ(uncertain_cost(s, 1, 4000).usd_a_year.p50, u.usd_a_year.p50) << "the same seed";
  EXPECT_NE(uncertain_cost(s, 2, 4000).usd_a_year.p50, u.usd_a_year.p50);
  // Of a triangle from 0 to 1 with its tip at 0, a tenth lies below 1 - sqrt(0.9).
  CostSite one = site();
  one.software_usd_per_gpu = Estimate(0, 0, 1);
  const UncertainCost t = uncertain_cost(one, 3, 20'000);
  const double without = yearly_cost(site()).usd_a_year;
  EXPECT_NEAR((t.usd_a_year.p10 - without) / 100, 1 - std::sqrt(0.9), 0.005);
  EXPECT_NEAR((t.usd_a_year.p90 - without) / 100, 1 - std::sqrt(0.1), 0.01);
}

TEST(Ownership, AnotherUncertainNumberLeavesTheDrawsOfTheFirstAlone) {
  CostSite s = site();
  s.gpu_price = Estimate(8'000, 10'000, 15'000);
  const double alone = drawn(s, 7, 3).gpu_price.likely;
  s.usd_per_kwh = Estimate(0.09, 0.1, 0.11);
  EXPECT_EQ(drawn(s, 7, 3).gpu_price.likely, alone);
  EXPECT_NE(drawn(s, 7, 4).gpu_price.likely, alone);
}

}  // namespace
}  // namespace muster::predict
