#include "predict/rent_or_own.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster::predict {
namespace {

// A node of eight as the claim has it: its price with 15 % for the network, a rented hall with power for 14.4 kW.
CostSite node(double usd, double residual = 0) {
  CostSite s;
  s.gpus = 8;
  s.node_gpus = 8;
  s.gpu_price = usd / 8;
  s.capital.push_back({"network", CostClass::network, 0.15 * usd, 1, 0, 0, 0});
  s.residual = residual;
  s.years = 5;
  s.nameplate_kw = 14.4;
  s.hall_usd_per_kw_month = 130;
  s.hall_includes_power = true;
  return s;
}

RentOrOwnAsk asks(const CostSite& site, double usd) {
  RentOrOwnAsk a;
  a.site = site;
  a.usd_per_gpu_hour = usd;
  a.gpu_hours_a_month = 3500;
  return a;
}

TEST(RentOrOwn, EighteenMonthsAtThePricesThatWereWorkedOutByHand) {
  for (const auto& [usd, price] : {std::pair{255e3, 5.2}, {280e3, 5.6}, {320e3, 6.4}}) {
    const auto exact = break_even_price(ownership(yearly_cost(node(usd))), 18, 3500);
    EXPECT_NEAR(exact, price, 0.06);
    EXPECT_NEAR(rent_or_own(asks(node(usd), exact))->at_constant, 18, 0.01);
    EXPECT_NEAR(rent_or_own(asks(node(usd), price))->at_constant, 18, 0.5);
  }
  for (const auto& [usd, price] : {std::pair{255e3, 4.0}, {280e3, 4.3}, {320e3, 4.9}}) {
    RentOrOwnAsk a = asks(node(usd, 0.3), price);
    a.resale = Resale::at_end;
    EXPECT_NEAR(rent_or_own(a)->at_constant, 18, 0.5) << "with 30 % of the node's price left";
  }
  EXPECT_NEAR(rent_or_own(asks(node(280e3), 6.88))->at_constant, 14.5, 0.5);
  EXPECT_NEAR(rent_or_own(asks(node(280e3), 4))->at_constant, 26.6, 0.5);
  EXPECT_NEAR(rent_or_own(asks(node(280e3), 2.5))->at_constant, 46.8, 0.5);
  EXPECT_TRUE(std::isinf(rent_or_own(asks(node(280e3), 0.5))->at_constant)) << "the hall alone costs more";
}

TEST(RentOrOwn, TheSumOverMonthsAgreesWithTheClosedForm) {
  RentOrOwnAsk a = asks(node(280e3), 4);
  const double closed = rent_or_own(a)->at_constant;
  a.moves = {{0, 0, 0, 0, 0, 0}};  // prices that never move
  const auto r = rent_or_own(a);
  EXPECT_NEAR(r->at.p50, closed, 1e-6);
  EXPECT_EQ(r->at.p10, r->at.p90);
  EXPECT_EQ(r->never, 0);
}

TEST(RentOrOwn, InterestPutsItOffAndResaleBringsItForward) {
  RentOrOwnAsk a = asks(node(280e3, 0.1), 4);
  const double plain = rent_or_own(a)->at_constant;
  a.site.interest = 0.08;
  const double late = rent_or_own(a)->at_constant;
  EXPECT_GT(late, plain + 1);
  a.resale = Resale::straight;
  EXPECT_LT(rent_or_own(a)->at_constant, late);
}

// What can be sold for its price in the beginning costs nothing yet, which is no month of having cost less.
TEST(RentOrOwn, ResaleAtItsFullPriceIsNoBreakEvenInTheBeginning) {
  RentOrOwnAsk a = asks(node(280e3), 1);
  a.resale = Resale::straight;
  const auto cheap = rent_or_own(a);
  EXPECT_GT(cheap->even_usd_per_gpu_hour, 1.2);
  EXPECT_GT(cheap->at_constant, 60) << "it loses its worth faster than such rent costs";
  a.moves = {{0, 0, 0}};
  EXPECT_EQ(rent_or_own(a)->never, 1);
  a.usd_per_gpu_hour = 9;
  EXPECT_LT(rent_or_own(a)->at_constant, 1) << "and from the first month on it costs less than dear rent";
}

TEST(RentOrOwn, ADiscountIsOffWhatIsPaidAtOnce) {
  CostSite site = node(280e3);
  site.part_usd = 1000;
  const CostSite off = at_discount(site, 0.25);
  EXPECT_DOUBLE_EQ(yearly_cost(off).capital_usd, 0.75 * yearly_cost(site).capital_usd);
  EXPECT_DOUBLE_EQ(yearly_cost(off).operating_usd_a_year, yearly_cost(site).operating_usd_a_year);
  EXPECT_EQ(at_discount(site, 0).gpu_price, site.gpu_price);
}

TEST(RentOrOwn, TheRentOfASteadyPriceIsInTheMoneyOfToday) {
  RentOrOwnAsk a = asks(node(280e3), 4);
  a.site.interest = 0.08;
  const auto r = rent_or_own(a);
  double sum = 0;
  for (int m = 1; m <= 60; ++m) sum += 4 * 3500 * std::pow(1.08, -m / 12.0);
  EXPECT_NEAR(r->rent_steady_usd.back(), sum, 1e-6 * sum);
}

TEST(RentOrOwn, NoMoreIsRentedThanIsOwned) {
  RentOrOwnAsk a = asks(node(280e3), 4);
  a.gpu_hours_a_month = 1e6;
  EXPECT_DOUBLE_EQ(rent_or_own(a)->gpu_hours_a_month, 8 * kHoursAMonth);
}

TEST(RentOrOwn, AtItsEvenUtilisationOwningCostsAsMuchInTheEnd) {
  RentOrOwnAsk a = asks(node(280e3), 4);
  a.site.interest = 0.05;
  a.gpu_hours_a_month = 0;
  const auto r = rent_or_own(a);
  ASSERT_LT(r->even_utilisation, 1);
  a.site.utilisation = Estimate(r->even_utilisation);
  EXPECT_NEAR(rent_or_own(a)->at_constant, 60, 0.01) << "at the end of its life";
  EXPECT_NEAR(rent_or_own(a)->even_usd_per_gpu_hour, 4, 1e-6);
}

std::vector<RentalRow> rows(std::initializer_list<std::pair<std::int64_t, double>> points) {
  std::vector<RentalRow> out;
  for (const auto& [day, usd] : points) {
    RentalRow r;
    r.day = day;
    r.cloud = "aws";
    r.at(RentTerm::ondemand) = usd;
    out.push_back(r);
  }
  return out;
}

TEST(MonthlyPrices, KeepTheLastPriceThatWasSeen) {
  const auto all = rows({{0, 4.0}, {10, 5.0}, {70, 2.5}});
  const auto p = monthly_prices(all, {1, 0, 0, 0});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->usd_per_gpu_hour, (std::vector<double>{5.0, 5.0, 2.5}));
  EXPECT_EQ(p->days, 3U);
  EXPECT_FALSE(monthly_prices(all, {0.5, 0.5, 0, 0})) << "a mix needs each of its prices";
  const PriceMoves moves = moves_of(std::span(&*p, 1));
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_NEAR(moves[0][1], std::log(0.5), 1e-12);
  const PriceMoves level = without_drift(moves);
  double sum = 0;
  for (const double x : level[0]) sum += x;
  EXPECT_NEAR(sum, 0, 1e-12);
}

TEST(RentOrOwn, PricesThatRoseAndFellGiveABandOnBothSides) {
  RentOrOwnAsk a = asks(node(280e3), 4);
  a.moves = {{0, 0.2, 0, 0, -0.2, 0, 0, 0, 0.1, 0, 0, -0.1}};
  const auto r = rent_or_own(a);
  EXPECT_LT(r->at.p10, r->at_constant) << "prices may rise";
  EXPECT_GT(r->at.p90, r->at_constant) << "and fall";
  EXPECT_EQ(r->draws, a.draws);
  a.moves = {{-0.2, -0.1, -0.2, -0.1}};
  const auto falling = rent_or_own(a);
  EXPECT_EQ(falling->never, 1) << "renting gets cheap sooner than owning pays";
  EXPECT_TRUE(std::isinf(falling->at.p10));
  EXPECT_EQ(rent_or_own(a)->rent_usd.back().p50, falling->rent_usd.back().p50) << "the same seed, the same draws";
}

TEST(RentOrOwn, APriceOfNothingIsRefused) { EXPECT_FALSE(rent_or_own(asks(node(280e3), 0))); }

}  // namespace
}  // namespace muster::predict
