// Price files: real forms are read, wrong lines are named.
#include "ingest/price_file.h"

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

}  // namespace
}  // namespace muster
