#include "predict/procure.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster::predict {
namespace {

TEST(Procure, SparesAreThePoissonQuantile) {
  EXPECT_EQ(spares_for(0, 0.03, 20), 0U);
  EXPECT_EQ(spares_for(100, 0, 20), 0U);
  // Mean 1: P(X <= 2) = 0.9197, P(X <= 3) = 0.9810. Mean 10: P(X <= 14) = 0.9165, P(X <= 15) = 0.9513.
  const double year = 365.25 / 7;
  EXPECT_EQ(spares_for(1, 1, year), 3U);
  EXPECT_EQ(spares_for(10, 1, year), 15U);
  EXPECT_EQ(spares_for(10, 1, year, 0.09), 14U);
  const auto many = spares_for(100'000, 1, year);  // about mean + 1.645 sd
  EXPECT_NEAR(static_cast<double>(many), 100'000 + 1.645 * std::sqrt(1e5), 5);
}

ProcurementTerms some_terms() {
  ProcurementTerms t;
  for (BuyTerms& x : t) x = {4, 10, 0.9, 1.2, 0, "test"};
  t[static_cast<std::size_t>(BuyItem::gpu)].per_year = 0.05;
  return t;
}

PurchaseAsk some_ask() {
  PurchaseAsk a;
  a.nodes = 16;
  a.gpu_usd = 40'000;
  a.switch_usd = 36'000;
  a.cable_usd = 600;
  a.fibre_usd = 60;
  a.transceiver_usd = 750;
  return a;
}

TEST(Procure, SixteenNodesNeedFourLeavesAndTwoSpines) {
  const Purchase p = plan_purchase(some_ask(), some_terms());
  ASSERT_GE(p.lines.size(), 6U);
  EXPECT_EQ(p.lines[0].needed, 16U);
  EXPECT_EQ(p.lines[0].usd, 16 * 8 * 40'000.0);
  EXPECT_EQ(p.lines[2].needed, 6U);
  EXPECT_EQ(p.lines[3].needed, 128U);
  EXPECT_EQ(p.lines[4].needed, 128U);
  EXPECT_EQ(p.lines[5].needed, 256U);
  double sum = 0;
  for (const SheetLine& l : p.lines) sum += l.usd;
  EXPECT_EQ(sum, p.usd);
  EXPECT_LT(p.usd_low, p.usd);
}

TEST(Procure, AFewNodesShareOneSwitch) {
  PurchaseAsk a = some_ask();
  a.nodes = 8;
  const Purchase p = plan_purchase(a, some_terms());
  EXPECT_EQ(p.lines[2].needed, 1U);
  EXPECT_EQ(p.lines.size(), 4U);  // no cables between switches
}

TEST(Procure, SparesAreOfWhatIsThereToo) {
  PurchaseAsk a = some_ask();
  const auto few = plan_purchase(a, some_terms()).lines[1].spares;
  a.gpus_now = 4096;
  EXPECT_GT(plan_purchase(a, some_terms()).lines[1].spares, few);
}

TEST(Procure, TheLastDayToOrderIsTheLeadTimeAndTheInstallationBefore) {
  PurchaseAsk a = some_ask();
  a.need_p50 = Time{} + days(1000);
  a.install_weeks = 4;
  const SheetLine l = plan_purchase(a, some_terms()).lines[0];
  EXPECT_EQ(l.order_p50, Time{} + days(1000 - 14 * 7));
  EXPECT_FALSE(l.order_p10);
}

}  // namespace
}  // namespace muster::predict
