// Price files: real forms are read, wrong lines are named.
#include "ingest/price_file.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

namespace muster {
namespace {

constexpr const char* kHead = "# source\ntimestamp,price_per_mwh,forecast_per_mwh\n";

TEST(PriceFile, reads_hours_with_their_forecasts) {
  const auto p = parse_prices(std::string(kHead) + "2017-12-26 00:00:00,24.646,23.785\n2017-12-26 01:00:00,-1.5,2\n", "p.csv");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(render_utc(p->begins), "2017-12-26T00:00:00Z");
  EXPECT_EQ(p->actual, (std::vector<double>{24.646, -1.5}));
  EXPECT_EQ(p->forecast, (std::vector<double>{23.785, 2}));
}

TEST(PriceFile, reads_carbon_without_every_forecast_and_fills_short_gaps) {
  const auto p = parse_prices(
      "timestamp_utc,actual_g_per_kwh,forecast_24h_g_per_kwh\n2023-03-13T03:00Z,64,\n2023-03-13T06:00Z,70,71\n", "c.csv");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->actual, (std::vector<double>{64, 64, 64, 70}));
  EXPECT_TRUE(std::isnan(p->forecast[1]));
  EXPECT_EQ(p->forecast[3], 71);
  EXPECT_EQ(p->filled, 2U);
}

std::string hourly(const std::string& head, int hours, int without_from, int without_to) {
  std::string s = head;
  for (int h = 0; h < hours; ++h) {
    if (h >= without_from && h < without_to) continue;
    s += fmt::format("2018-01-{:02} {:02}:00:00,{},{},{}\n", 1 + h / 24, h % 24, h % 24, h % 24 + 0.5, 100 + h % 24);
  }
  return s;
}

TEST(PriceFile, missing_hours_are_like_those_of_the_day_before_and_are_told) {
  const std::string head = "timestamp,price_per_mwh,forecast_per_mwh,carbon_g_per_kwh\n";
  const auto p = parse_prices(hourly(head, 600, 50, 54), "p.csv");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->actual[51], 51 % 24);
  EXPECT_TRUE(std::isnan(p->forecast[51]));
  EXPECT_EQ(about_missing(*p),
            "4 of 600 hours are missing, the most without a break 4 from 2018-01-03T02:00:00Z; each is taken to be as the same "
            "hour of the day before");
  EXPECT_EQ(about_missing(*parse_prices(hourly(head, 600, 0, 0), "p.csv")), "");
  EXPECT_FALSE(parse_prices(hourly(head, 600, 50, 150), "p.csv"));  // too long a gap
  const auto many = parse_prices(hourly(head, 600, 50, 90), "p.csv");
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().what.find("40 of 600 hours are missing"), std::string::npos) << many.error().what;
}

TEST(PriceFile, money_and_carbon_come_from_one_file_or_one_of_them_alone) {
  const auto both = parse_power(hourly("timestamp,price_per_mwh,forecast_per_mwh,carbon_g_per_kwh\n", 48, 0, 0), "p.csv");
  ASSERT_TRUE(both) << both.error().what;
  EXPECT_EQ(both->price.actual[30], 6);
  EXPECT_EQ(both->carbon.actual[30], 106);
  EXPECT_TRUE(std::isnan(both->carbon.forecast[30]));
  const auto carbon = parse_power("timestamp_utc,actual_g_per_kwh,forecast_24h_g_per_kwh\n2023-03-13T03:00Z,64,65\n", "c.csv");
  ASSERT_TRUE(carbon) << carbon.error().what;
  EXPECT_EQ(carbon->price.actual, std::vector<double>{0});
  EXPECT_EQ(carbon->carbon.forecast, std::vector<double>{65});
  const auto price = parse_power("timestamp,price_per_mwh\n2018-01-01 00:00:00,5\n", "p.csv");
  ASSERT_TRUE(price) << price.error().what;
  EXPECT_EQ(price->carbon.hours(), 0U);
  EXPECT_FALSE(parse_power("timestamp,price\n2018-01-01 00:00:00,5\n", "p.csv"));
}

TEST(PriceFile, wrong_lines_are_refused_with_their_number) {
  const auto why = [](const std::string& rows) {
    const auto p = parse_prices(kHead + rows, "p.csv");
    return p ? std::string("taken") : p.error().what;
  };
  EXPECT_NE(why("2018-01-01 00:00:00,x,1\n").find("p.csv:3: 'x' is no value"), std::string::npos);
  EXPECT_NE(why("2018-01-01 00:00:00,1,x\n").find("p.csv:3: 'x' is no forecast"), std::string::npos);
  EXPECT_NE(why("2018-01-01 00:30:00,1,1\n").find("no whole hour"), std::string::npos);
  EXPECT_NE(why("2018-01-01 01:00:00,1,1\n2018-01-01 01:00:00,1,1\n").find("p.csv:4: the hours must rise"), std::string::npos);
  EXPECT_NE(why("2018-01-01 01:00:00,1,1\n2018-03-01 01:00:00,1,1\n").find("hours are missing"), std::string::npos);
  EXPECT_NE(why("").find("no hours"), std::string::npos);
  EXPECT_FALSE(parse_prices("a,b\n1,2\n", "p.csv"));
}

TEST(PriceFile, a_file_of_the_other_kind_is_refused_where_one_is_meant) {
  const std::string carbon = "timestamp,actual_g_per_kwh,forecast_24h_g_per_kwh\n2026-11-01 00:00:00,400,410\n";
  EXPECT_TRUE(parse_prices(carbon, "c.csv").has_value());
  EXPECT_TRUE(parse_prices(carbon, "c.csv", Hourly::carbon).has_value());
  EXPECT_FALSE(parse_prices(carbon, "c.csv", Hourly::price).has_value());
  const auto bare = parse_prices("timestamp,price_per_mwh\n2026-11-01 00:00:00,40\n", "p.csv", Hourly::price);
  ASSERT_TRUE(bare.has_value()) << bare.error().what;
  EXPECT_TRUE(std::isnan(bare->forecast[0]));
  const auto both = parse_power(carbon, "c.csv");
  ASSERT_TRUE(both.has_value());
  EXPECT_FALSE(both->has_price);
}

}  // namespace
}  // namespace muster
