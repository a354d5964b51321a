// The rows of mission_oracles.csv that are about money and power, held against what is computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/hardware_file.h"
#include "ingest/price_catalogue.h"
#include "predict/ownership.h"

namespace muster::predict {
namespace {

std::string public_file(const char* name) {
  const char* folder = std::getenv("MUSTER_DATA");
  if (folder == nullptr) return "";
  std::ifstream in(std::string(folder) + "/cost/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class MoneyOracles : public testing::Test {
 protected:
  void SetUp() override {
    const std::string text = public_file("mission_oracles.csv");
    if (text.empty()) GTEST_SKIP() << "cost/mission_oracles.csv of $MUSTER_DATA is not there";
    const auto csv = parse_csv(text, "mission_oracles.csv");
    ASSERT_TRUE(csv) << csv.error().what;
    for (std::size_t i = 0; i < csv->rows.size(); ++i) {
      std::string all;
      for (const std::string& cell : csv->rows[i]) all += cell + " | ";
      row_[csv->cell(i, "id")] = all;
    }
  }
  // Each computed figure stands in the oracle's row as it is written there.
  void says(const char* id, const std::string& figure) const {
    EXPECT_NE(row_.at(id).find(figure), std::string::npos) << id << " has no " << figure << ": " << row_.at(id);
  }

  std::map<std::string, std::string> row_;
};

std::string with(double d, int decimals) {
  std::ostringstream s;
  s.setf(std::ios::fixed);
  s.precision(decimals);
  s << d;
  return s.str();
}

// A node of eight with 15 % for its network, in a hall at 130 USD a kW and month for 14.4 kW.
Ownership node(double usd, double residual = 0) { return {usd * 1.15, usd * residual, 14.4 * 130}; }

TEST_F(MoneyOracles, O1SumsAndShares) {
  constexpr std::array<double, 6> kParts = {12, 2.5, 4, 3, 1.8, 3.5};
  double sum = 0;
  for (const double p : kParts) sum += p;
  says("O1", "sum " + with(sum, 1));
  std::string shares;
  for (const double p : kParts) shares += (shares.empty() ? "" : "/") + with(100 * p / sum, 1);
  says("O1", shares);
  says("O1", "~" + with(4e6 / 12 / (1500 * 1.275), 0) + " USD per kW-month");
}

TEST_F(MoneyOracles, O2BreakEvenPricesAndMonths) {
  const auto price = [](double usd, double residual) { return with(break_even_price(node(usd, residual), 18, 3500), 1); };
  says("O2", price(255e3, 0) + " / " + price(280e3, 0) + " / " + price(320e3, 0));
  says("O2", price(255e3, 0.3) + " / " + price(280e3, 0.3) + " / " + price(320e3, 0.3));
  // "27-55 months" at 4 USD and 2 USD and something, for the node in the middle and the dearest.
  EXPECT_NEAR(break_even_months(node(280e3), 4, 3500), 26.6, 0.5);
  EXPECT_LT(break_even_months(node(280e3), 7.36, 3500), 18) << "true of a hyperscaler";
  EXPECT_GT(break_even_months(node(280e3), 4, 3500), 18) << "and false of others";
}

TEST_F(MoneyOracles, O3AndO6PowerByItsFormula) {
  const auto million = [](double mw, double usd) { return with(pue_saving_usd(mw, 1.55, 1.30, usd) / 1e6, 1); };
  says("O3", million(12.75, 0.06) + " / " + million(12.75, 0.08) + " / " + million(12.75, 0.10) + " / " + million(12.75, 0.15));
  says("O3", million(150 / 1.55, 0.05) + " M at 0.05");
  says("O3", with(4.5e6 / pue_saving_usd(1, 1.55, 1.30, 0.08), 1) + " MW at 0.08");
  says("O6", "4/9.3 = " + with(100 * 4 / 9.3, 0) + " %");
  says("O6", "= " + with(100 * 0.18 * 9.3 / 4, 0) + " % of the whole power bill");
}

TEST_F(MoneyOracles, O4AndO5AndO15ByDivision) {
  says("O4", with(100 * (1 - 0.40 / 0.55), 0) + "-" + with(100 * (1 - 0.40 / 0.60), 0) + " %");
  says("O4", with(26.8e6 / 0.40 / 1e6, 0) + " M GPU-h");
  says("O5", with(100 * (1 - 0.88 / 0.96), 2) + " %");
  EXPECT_NEAR(37e3 / 8, 4600, 50) << row_.at("O15");
  says("O15", "4,600 USD per GPU-MONTH");
}

TEST_F(MoneyOracles, O14TurnsAtTheBreakEvenUtilisation) {
  const Ownership own = node(280e3);
  const double even = break_even_utilisation(own, 48, 8, 2.99);
  EXPECT_NEAR(owned_gpu_hour(own, 48, 8, even), 2.99, 1e-9) << "there both cost the same";
  EXPECT_GT(owned_gpu_hour(own, 48, 8, 0.9 * even), 2.99) << "below it renting is cheaper: " << row_.at("O14");
  EXPECT_NEAR(owned_gpu_hour(own, 48, 8, 0.85 * even) / 2.99, 1 / 0.85, 1e-9);
  says("O14", "bursty = below the break-even utilisation");
}

TEST_F(MoneyOracles, O16ByTheDatedPrices) {
  const auto prices = parse_price_catalogue(public_file("cloud_gpu_price_history.csv"), "history", {});
  ASSERT_TRUE(prices) << prices.error().what;
  double first = 0, least = 1e9;
  for (const RentalRow& r : prices->rows) {
    if (r.instance != "p4d.24xlarge" || !r.at(RentTerm::ondemand)) continue;
    if (first == 0) first = *r.at(RentTerm::ondemand);
    least = std::min(least, *r.at(RentTerm::ondemand));
  }
  says("O16", "on-demand " + with(first, 2) + " before the 2025 cut");
  EXPECT_LT(least, 3.20) << "the claimed mean lies between the two";
  EXPECT_GT(first, 3.20);
  EXPECT_NEAR(first, 32.7726 / 8, 0.01);
}

TEST_F(MoneyOracles, O17ByTwoNodesWithAndWithoutPeople) {
  const double machines = 2 * (node(400e3).capital_usd + node(400e3).monthly_usd * 60);
  EXPECT_LT(machines, 1.5e6) << row_.at("O17");
  EXPECT_GT(machines + 0.5 * 180e3 * 5, 1.5e6);
  says("O17", "5 years with staff");
}

TEST_F(MoneyOracles, O9AndO11ByTheirSums) {
  const double serial = 400 * 0.3, rest = 64;
  EXPECT_NEAR(100 * serial / (serial + rest), 65, 0.5) << row_.at("O9");
  says("O9", "0.3 s a node serial against " + with(rest, 0) + " s of the rest");
  says("O11", "from " + with(100 - 86, 0) + " to " + with(100 - 94, 0) + " points");
}

TEST_F(MoneyOracles, O18AndO19ByTheMakersSheets) {
  const GpuModel &a100 = *find_gpu_model("a100"), &h100 = *find_gpu_model("h100"), &h200 = *find_gpu_model("h200");
  says("O18", "about " + with(h200.fp32_tflops, 0) + " TFLOP/s FP32, bandwidth " + with(h200.hbm_tb_s / h100.hbm_tb_s, 2) +
                  "x, same matrix rate");
  EXPECT_EQ(h100.bf16_tflops, h200.bf16_tflops);
  EXPECT_LT(1 - h100.hbm_tb_s / h200.hbm_tb_s, 0.45) << "memory alone would not make training that much faster";
  EXPECT_EQ(a100.nvlink_gb_s, 12 * 25.0) << "twelve links, one way";
  says("O19", with(2 * a100.nvlink_gb_s, 0) + " GB/s is the total of one GPU over 12 links, both directions");
}

TEST_F(MoneyOracles, O20ToO22ByPowerLightAndBytes) {
  const double kw = 10.2 / 8;
  EXPECT_NEAR(3000 / kw, 2400, 50) << row_.at("O20");
  EXPECT_NEAR(5000 / kw, 4000, 100);
  EXPECT_NEAR(300e9 * 4 / 1e12, 1, 0.5) << "bytes of text, in TB";
  EXPECT_GT(15e15 / (300e9 * 4), 1e4) << "what is said to be needed is four orders more";
  constexpr double kKmPerMs = 200;  // light in glass
  says("O21", "about " + with(1.2 / 2 * kKmPerMs, 0) + " km of fibre");
  const double step_s = 2 * 8e9 * 2 / (1.25e9 * 8);  // gradients of 8B once up and down, over the eight cards of a node
  EXPECT_GT(step_s, 3) << row_.at("O22");
  says("O22", "1.25 GB/s");
}

}  // namespace
}  // namespace muster::predict
