#include "ingest/procurement_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::string_view kHead = "item,weeks_low,weeks_high,price_low,price_high,per_year,source\n";

TEST(Procurement, WhatShipsIsCompleteAndSourced) {
  const ProcurementTerms& t = procurement_terms();
  for (const BuyTerms& x : t) {
    EXPECT_GT(x.weeks_high, x.weeks_low);
    EXPECT_LT(x.price_low, 1);
    EXPECT_GT(x.price_high, 1);
    EXPECT_FALSE(x.source.empty());
  }
  EXPECT_GT(t[static_cast<std::size_t>(BuyItem::gpu)].per_year, 0);
}

TEST(Procurement, ATableReplacesWhatItNamesAndKeepsTheRest) {
  const auto t = parse_procurement(std::string(kHead) + "server,6,9,1,1.1,0,our supplier 2026-11\n");
  ASSERT_TRUE(t);
  EXPECT_EQ((*t)[0].weeks_high, 9);
  EXPECT_EQ((*t)[0].source, "our supplier 2026-11");
  EXPECT_EQ((*t)[2].weeks_high, procurement_terms()[2].weeks_high);
}

TEST(Procurement, EachFigureSaysFromWhenItIsOrThatItIsAssumed) {
  const auto& ships = procurement_terms();
  EXPECT_EQ(ships[0].weeks_from, "2024-04");
  EXPECT_EQ(ships[2].weeks_from, kAssumed);
  EXPECT_EQ(ships[1].per_year_from, "2024-07");
  const auto ours = parse_procurement(
      "item,weeks_low,weeks_high,weeks_from,price_low,price_high,price_from,per_year,per_year_from,source\n"
      "switch,6,9,2026-11-02,1,1.1,2026,0.02,assumed,our supplier\n");
  ASSERT_TRUE(ours) << ours.error().what;
  EXPECT_EQ((*ours)[2].weeks_from, "2026-11-02");
  EXPECT_EQ((*ours)[2].price_high, 1.1);
  EXPECT_EQ((*ours)[2].price_from, "2026");
  EXPECT_EQ((*ours)[2].per_year, 0.02);
  EXPECT_EQ((*ours)[2].per_year_from, kAssumed);
  EXPECT_EQ((*ours)[2].source, "our supplier");
  const auto plain = parse_procurement(std::string(kHead) + "server,6,9,1,1.1,0,our supplier\n");
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)[0].weeks_from, kGiven);
  for (const char* from : {"yesterday", "2026-13", "2026-02-30", "", "26"}) {
    EXPECT_FALSE(
        parse_procurement("item,weeks_low,weeks_high,weeks_from,price_low,price_high,price_from,per_year,per_year_from,"
                          "source\nswitch,6,9," +
                          std::string(from) + ",1,1.1,2026,0.02,assumed,us\n"))
        << from;
  }
}

TEST(Procurement, WhatCannotBeIsRefusedWithItsLine) {
  for (const auto& [row, why] :
       std::vector<std::pair<std::string, std::string>>{{"tape,1,2,1,1,0,x\n", "no such item: tape"},
                                                        {"server,9,6,1,1,0,x\n", "a low value is above its high one"},
                                                        {"server,1,nan,1,1,0,x\n", "weeks_high must be a number from 0 to 520"},
                                                        {"server,-1,6,1,1,0,x\n", "weeks_low must be"},
                                                        {"server,1,6,1,1,0,x\nserver,1,6,1,1,0,x\n", "twice"}}) {
    const auto t = parse_procurement(std::string(kHead) + row, "ours.csv");
    ASSERT_FALSE(t) << row;
    EXPECT_NE(t.error().what.find(why), std::string::npos) << t.error().what;
    EXPECT_NE(t.error().what.find("ours.csv:"), std::string::npos);
  }
  EXPECT_FALSE(parse_procurement("item,price\nserver,3\n"));
}

}  // namespace
}  // namespace muster
