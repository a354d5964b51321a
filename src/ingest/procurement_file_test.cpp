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
