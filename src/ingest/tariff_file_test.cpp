// Tariffs: what is accepted has a price for every hour; what is wrong is named with its line.
#include "ingest/tariff_file.h"

#include <gtest/gtest.h>

#include "ingest/embedded.h"

namespace muster {
namespace {

std::string refusal(std::string_view text) {
  const auto t = parse_tariff(text, "t.yaml");
  return t ? "accepted" : t.error().what;
}

TEST(TariffFile, TheExampleThatShipsIsReadAndSaysItIsMadeUp) {
  const auto t = parse_tariff(embedded_file("energy/tariff_industrial.yaml").value_or(""), "x");
  ASSERT_TRUE(t.has_value()) << t.error().what;
  EXPECT_TRUE(t->synthetic);
  EXPECT_EQ(t->zone, "America/Chicago");
  EXPECT_DOUBLE_EQ(rule_of(*t, {2026, 6, 2, 13})->price, 0.112);  // July, Wednesday, one o'clock
  EXPECT_DOUBLE_EQ(rule_of(*t, {2026, 6, 5, 13})->price, 0.049);  // Saturday
  EXPECT_DOUBLE_EQ(rule_of(*t, {2026, 0, 2, 21})->price, 0.078);
  EXPECT_DOUBLE_EQ(rule_of(*t, {2026, 0, 2, 22})->price, 0.049);
  EXPECT_EQ(t->demand.size(), 2u);
}

TEST(TariffFile, RangesMayGoRound) {
  const auto t =
      parse_tariff("energy:\n  - {price_per_kwh: 1, hours: 22-6, months: nov-feb, days: sat-mon}\n  - {price_per_kwh: 2}\n", "t");
  ASSERT_TRUE(t.has_value()) << t.error().what;
  EXPECT_EQ(t->energy[0].hours, 0xc0003fu);
  EXPECT_EQ(t->energy[0].months, 0xc03u);
  EXPECT_EQ(t->energy[0].days, 0x61u);
  const auto all = parse_tariff("energy:\n  - {price_per_kwh: 1, hours: 0-24, months: 1-12, days: all}\n", "t");
  ASSERT_TRUE(all.has_value()) << all.error().what;
  EXPECT_EQ(all->energy[0].hours, 0xffffffu);
  EXPECT_EQ(all->energy[0].months, 0xfffu);
}

TEST(TariffFile, AnHourWithoutAPriceIsRefused) {
  EXPECT_NE(refusal("energy:\n  - {price_per_kwh: 0.1, hours: 8-22}\n").find("no rule of energy holds on a mon in jan at 0:00"),
            std::string::npos);
}

TEST(TariffFile, WhatIsWrongIsNamed) {
  EXPECT_NE(refusal("name: x\n").find("energy is missing"), std::string::npos);
  EXPECT_NE(refusal("energy:\n  - {price_per_kwh: 0.1, hours: 8-8}\n").find("hours must be like"), std::string::npos);
  EXPECT_NE(refusal("energy:\n  - {price_per_kwh: 0.1, months: foo}\n").find("t.yaml:2: months must be like"), std::string::npos);
  EXPECT_NE(refusal("energy:\n  - {price_per_kwh: much}\n").find("price_per_kwh"), std::string::npos);
  EXPECT_NE(refusal("energy:\n  - {price_per_kwh: 0.1}\ndemand:\n  - {price_per_kwh: 1}\n").find("price_per_k"),
            std::string::npos);
  EXPECT_NE(refusal("energy: sometimes\n").find("hourly"), std::string::npos);
  EXPECT_NE(refusal("energy:\n  - {price_per_kwh: 0.1}\ncolour: red\n").find("colour"), std::string::npos);
  const auto hourly = parse_tariff("energy: hourly\nfees_per_kwh: 0.02\n", "t");
  ASSERT_TRUE(hourly.has_value()) << hourly.error().what;
  EXPECT_TRUE(hourly->hourly);
}

TEST(TariffFile, ARatchetIsOfDemandAlone) {
  const std::string energy = "energy:\n  - {price_per_kwh: 0.1}\n";
  const auto t = parse_tariff(
      energy + "demand:\n  - {price_per_kw_month: 9, ratchet: 0.8, ratchet_months: 12, earlier_peak_kw: 900}\n", "t");
  ASSERT_TRUE(t.has_value()) << t.error().what;
  EXPECT_DOUBLE_EQ(t->demand[0].ratchet, 0.8);
  EXPECT_EQ(t->demand[0].ratchet_months, 12);
  EXPECT_DOUBLE_EQ(t->demand[0].earlier_peak_kw, 900);
  EXPECT_NE(refusal(energy + "demand:\n  - {price_per_kw_month: 9, ratchet: 80}\n").find("ratchet"), std::string::npos);
  EXPECT_NE(refusal(energy + "demand:\n  - {price_per_kw_month: 9, earlier_peak_kw: 9}\n").find("of a ratchet"),
            std::string::npos);
  EXPECT_NE(refusal("energy:\n  - {price_per_kwh: 0.1, ratchet: 0.5}\n").find("ratchet"), std::string::npos);
}

}  // namespace
}  // namespace muster
