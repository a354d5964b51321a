#include "ingest/price_catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/civil.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "model/fields.h"

namespace muster {
namespace {

// Made by hand: the traps that public lists were seen to have, one row each.
constexpr const char* kSnapshot =
    "as_of,cloud,accelerator,gpus_per_instance,instance_type,regions,ondemand_usd_per_gpu_hour_median,"
    "spot_usd_per_gpu_hour_median,source\n"
    "2026-08-22,aws,H100,8,p5.48xlarge,9,7,2.5,x\n"
    "2026-08-22,azure,H100,12,Standard_ND96isr_H100_v5,9,8,2,x\n"
    "2026-08-22,other,H100,11,mystery,1,8,2,x\n"
    "2026-08-22,shop,H100-NVL,10,10x_H100-NVL,1,3,2,x\n"
    "2025-09-11,oci,H100,8,BM.GPU.H100.8,9,10,,x\n"
    "2026-08-22,mithril,H200,8,h200.8x,1,1,1,x\n"
    "2026-08-22,shop,H200,1,1x_H200,1,4.5,4.5,x\n"
    "2026-08-22,gcp,H100,8,,9,11,5,x\n"
    "2026-08-22,aws,H200,8,p5e.48xlarge,9,,3,x\n"
    "2026-08-22,aws,B200,8,p6-b200.48xlarge,9,,,x\n";

const PriceFlag* flag(const RentalPrices& p, PriceTrap trap, std::string_view row = {}) {
  const auto it = std::find_if(p.flags.begin(), p.flags.end(),
                               [&](const PriceFlag& f) { return f.trap == trap && f.row.find(row) != std::string::npos; });
  return it == p.flags.end() ? nullptr : &*it;
}
const RentalRow* row(const RentalPrices& p, std::string_view instance) {
  const auto it = std::find_if(p.rows.begin(), p.rows.end(), [&](const RentalRow& r) { return r.instance == instance; });
  return it == p.rows.end() ? nullptr : &*it;
}

TEST(PriceCatalogue, EveryTrapIsNamedWithWhatWasDone) {
  const auto p = parse_price_catalogue(kSnapshot, "s.csv", {});
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->form, "snapshot");
  EXPECT_EQ(p->read, 10U);
  EXPECT_EQ(p->rows.size() + p->left_out, p->read);
  ASSERT_TRUE(row(*p, "p5.48xlarge"));
  EXPECT_TRUE(row(*p, "p5.48xlarge")->flags.empty()) << "nothing is wrong with it";

  const PriceFlag* azure = flag(*p, PriceTrap::impossible_count, "azure");
  ASSERT_TRUE(azure);
  EXPECT_EQ(azure->row, "azure Standard_ND96isr_H100_v5 (12 x H100)");
  EXPECT_EQ(azure->line, 3);
  EXPECT_EQ(azure->why, "listed with 12 GPUs, the machine has 8");
  EXPECT_DOUBLE_EQ(*row(*p, "Standard_ND96isr_H100_v5")->at(RentTerm::ondemand), 12) << "the machine's price over its eight";
  EXPECT_EQ(row(*p, "Standard_ND96isr_H100_v5")->gpus, 8);
  EXPECT_TRUE(flag(*p, PriceTrap::impossible_count, "mystery")) << "of a machine nobody knows";
  EXPECT_FALSE(row(*p, "mystery"));
  EXPECT_FALSE(flag(*p, PriceTrap::impossible_count, "10x_H100-NVL")) << "ten are in its own name";

  ASSERT_TRUE(flag(*p, PriceTrap::stale, "oci"));
  EXPECT_EQ(flag(*p, PriceTrap::stale, "oci")->why, "of 2025-09-11, 345 days before the newest row of the file");
  EXPECT_FALSE(row(*p, "BM.GPU.H100.8"));
  EXPECT_FALSE(row(*p, "h200.8x")) << "where bids begin";
  EXPECT_TRUE(flag(*p, PriceTrap::bid_floor, "mithril"));
  ASSERT_TRUE(row(*p, "1x_H200"));
  EXPECT_FALSE(row(*p, "1x_H200")->at(RentTerm::spot)) << "a copy of the price on demand";
  EXPECT_EQ(row(*p, "1x_H200")->flags, "spot_is_ondemand");
  EXPECT_TRUE(flag(*p, PriceTrap::without_host, "gcp"));
  EXPECT_TRUE(flag(*p, PriceTrap::no_ondemand, "p5e"));
  EXPECT_TRUE(row(*p, "p5e.48xlarge"));
  EXPECT_TRUE(flag(*p, PriceTrap::no_price, "p6-b200"));
  EXPECT_FALSE(row(*p, "p6-b200.48xlarge"));
}

TEST(PriceCatalogue, StaleRowsMayBeKeptAndLaterOnesAreNotRead) {
  const auto kept = parse_price_catalogue(kSnapshot, "s.csv", {.as_of = {}, .cloud = {}, .keep_stale = true});
  ASSERT_TRUE(row(*kept, "BM.GPU.H100.8"));
  EXPECT_EQ(row(*kept, "BM.GPU.H100.8")->flags, "stale");
  const auto then = parse_price_catalogue(kSnapshot, "s.csv", {.as_of = day_of(2025, 10, 1), .cloud = {}});
  EXPECT_EQ(then->rows.size(), 1U);
  EXPECT_EQ(then->newest, *day_of(2025, 9, 11));
  ASSERT_TRUE(flag(*then, PriceTrap::later));
  EXPECT_EQ(flag(*then, PriceTrap::later)->row, "9 rows");
}

TEST(PriceCatalogue, MachinesArePricedWholeAndByTheirPlaces) {
  constexpr const char* kMachines =
      "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,GpuInfo,AvailabilityZone\n"
      "p5.48xlarge,H100,8,192,2048,80,16,here,\"{'Gpus': [{'Name': 'H100', 'MemoryInfo': {'SizeInMiB': 81920}}]}\",a\n"
      "p5.48xlarge,H100,8,192,2048,96,24,there,\"{'Gpus': [{'Name': 'H100', 'MemoryInfo': {'SizeInMiB': 81920}}]}\",b\n"
      "p5.48xlarge,H100,8,192,2048,88,20,elsewhere,,c\n"
      "p5en.48xlarge,H200,8,192,2048,64,,here,\"{'Gpus': [{'Name': 'H200', 'MemoryInfo': {'SizeInMiB': 81920}}]}\",a\n"
      "m5.large,,,2,8,0.1,0.05,here,,a\n";
  EXPECT_FALSE(parse_price_catalogue(kMachines, "vms.csv", {.as_of = {}, .cloud = "aws"})) << "of which day?";
  EXPECT_FALSE(parse_price_catalogue(kMachines, "vms.csv", {.as_of = 20'000, .cloud = {}})) << "of which cloud?";
  const auto p = parse_price_catalogue(kMachines, "vms.csv", {.as_of = 20'000, .cloud = "aws"});
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->rows.size(), 2U) << "one a machine, and none without a GPU";
  EXPECT_DOUBLE_EQ(*row(*p, "p5.48xlarge")->at(RentTerm::ondemand), 11) << "the median of its places, a GPU";
  EXPECT_DOUBLE_EQ(*row(*p, "p5.48xlarge")->at(RentTerm::spot), 2.5);
  ASSERT_TRUE(flag(*p, PriceTrap::wrong_memory));
  EXPECT_EQ(flag(*p, PriceTrap::wrong_memory)->why, "said to have 80 GB, a H200 has 141");
  EXPECT_EQ(p->flags.size(), 1U);
}

TEST(PriceCatalogue, ASpotPriceThatNeverMovesIsAFloor) {
  std::string text = "date,cloud,accelerator,instance_type,zones,ondemand_median_usd_gpu_h,spot_median_usd_gpu_h,source\n";
  for (int month = 1; month <= 8; ++month) {
    text += "2026-0" + std::to_string(month) + "-01,still,H100,a,1,3,1.5,x\n";
    text += "2026-0" + std::to_string(month) + "-01,lively,H100,b,1,3," + std::to_string(1 + month * 0.1) + ",x\n";
  }
  text += "2025-01-01,gone,H100,c,1,3,,x\n";
  const auto p = parse_price_catalogue(text, "h.csv", {});
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->form, "history");
  EXPECT_EQ(p->rows.size(), 17U) << "history is not stale";
  EXPECT_TRUE(flag(*p, PriceTrap::bid_floor, "still"));
  EXPECT_FALSE(flag(*p, PriceTrap::bid_floor, "lively"));
  EXPECT_FALSE(row(*p, "a")->at(RentTerm::spot));
  EXPECT_TRUE(row(*p, "b")->at(RentTerm::spot));
  EXPECT_TRUE(flag(*p, PriceTrap::stale, "gone")) << "but a series that ended is told";
}

TEST(PriceCatalogue, QuotationsHaveCommitmentsAndPurchases) {
  constexpr const char* kQuotations =
      "date,hardware,purchase_usd_per_gpu,ondemand_usd_gpu_h,commit_1y_usd_gpu_h,commit_3y_usd_gpu_h,vendor,gpus_in_quote,notes,"
      "primary_source,source\n"
      "2025-03-17,NVIDIA H100 SXM5 80GB,,11,7.5,5,Some Cloud,8,,page,x\n"
      "2025-03-17,NVIDIA V100,,2.5,1.5,1,Google Cloud,1,,https://cloud.google.com/compute/gpus-pricing,x\n"
      "2025-03-03,NVIDIA H100 SXM5 80GB,31250,,,,,1,,page,x\n";
  const auto p = parse_price_catalogue(kQuotations, "q.csv", {});
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->purchases, 1U);
  ASSERT_EQ(p->rows.size(), 1U);
  EXPECT_EQ(p->rows[0].cloud, "some cloud");
  EXPECT_EQ(*p->rows[0].at(RentTerm::reserved_3y), 5);
  EXPECT_TRUE(flag(*p, PriceTrap::without_host));
}

constexpr const char* kVms =
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone\n";

RentalPrices vms(const std::string& rows) {
  const auto p = parse_price_catalogue(kVms + rows, "vms.csv", {.as_of = 20'000, .cloud = "aws"});
  EXPECT_TRUE(p) << p.error().what;
  return p ? *p : RentalPrices{};
}

TEST(PriceCatalogue, AMachineWithAnotherGpuOrNoneOrAnUnknownNumberHasNoPrice) {
  const RentalPrices p =
      vms("p5.48xlarge,H100,8,192,2048,55.04,21,here,a\n"
          "p5.48xlarge,A100,8,192,2048,55.04,21,there,a\n"
          "nobody.8x,H100,0,96,1900,98.32,39,here,a\n"
          "nobody.9x,H100,,96,1900,98.32,39,here,a\n"
          ",H100,8,,,10.9,4,here,a\n"
          "tpu-v4,tpu-v4-8,1,,,12.88,3.8,here,a\n"
          "g6.part,L4,0.125,4,16,0.1,0.05,here,a\n"
          "m5.large,,,2,8,0.1,0.03,here,a\n");
  EXPECT_TRUE(flag(p, PriceTrap::other_gpu, "p5.48xlarge"));
  EXPECT_EQ(flag(p, PriceTrap::other_gpu)->why, "listed with A100, the machine has H100");
  EXPECT_TRUE(flag(p, PriceTrap::no_count, "nobody.8x")) << "98 USD are the machine's, not a GPU's";
  EXPECT_TRUE(flag(p, PriceTrap::no_count, "nobody.9x"));
  EXPECT_TRUE(flag(p, PriceTrap::without_host)) << "a GPU without a machine, whoever sells it";
  EXPECT_TRUE(flag(p, PriceTrap::not_gpu));
  EXPECT_TRUE(flag(p, PriceTrap::part_of_gpu, "g6.part"));
  ASSERT_EQ(p.rows.size(), 2U);
  EXPECT_EQ(row(p, "p5.48xlarge")->gpu, "H100");
  EXPECT_DOUBLE_EQ(*row(p, "p5.48xlarge")->at(RentTerm::ondemand), 6.88);
  EXPECT_DOUBLE_EQ(*row(p, "g6.part")->at(RentTerm::ondemand), 0.8);
  EXPECT_EQ(p.gpuless, 1U);
  EXPECT_EQ(p.left_out, 6U);
  EXPECT_EQ(p.kept, 2U);
}

TEST(PriceCatalogue, PricesOfAnotherUnitStandOut) {
  const RentalPrices p =
      vms("p5.48xlarge,H100,8,192,2048,55.04,21,r1,a\np5.48xlarge,H100,8,192,2048,58,22,r2,a\n"
          "p5.48xlarge,H100,8,192,2048,60,23,r3,a\np5.48xlarge,H100,8,192,2048,6.88,2,r4,a\n"  // a GPU's, as the machine's
          "p5.48xlarge,H100,8,192,2048,40179,,r5,a\n"                                          // a month's
          "p5.48xlarge,H100,8,192,2048,56,70,r6,a\n"
          "bargain.8x,H100,8,192,2048,0.04,0.01,r1,a\n"
          "cheap.8x,H100,8,192,2048,4,2,r1,a\n");
  EXPECT_TRUE(flag(p, PriceTrap::far_off, "p5.48xlarge"));
  EXPECT_EQ(std::count_if(p.flags.begin(), p.flags.end(), [](const PriceFlag& f) { return f.trap == PriceTrap::far_off; }), 4);
  EXPECT_NEAR(*row(p, "p5.48xlarge")->at(RentTerm::ondemand), 7, 0.01) << "the median of the four that are left";
  EXPECT_FALSE(row(p, "bargain.8x")) << "half a cent an hour";
  ASSERT_TRUE(row(p, "cheap.8x")) << "a cloud may be cheap, and is told";
  EXPECT_EQ(row(p, "cheap.8x")->flags, "far_off");
  ASSERT_TRUE(flag(p, PriceTrap::spot_above));
  EXPECT_EQ(flag(p, PriceTrap::spot_above)->why, "spot at 8.75 USD is dearer than on demand at 7");
  EXPECT_NE(row(p, "p5.48xlarge")->flags.find("spot_above"), std::string::npos) << "one row for all places keeps every doubt";
}

TEST(PriceCatalogue, ACommitmentThatIsDearerThanNoneIsTold) {
  const auto p = parse_price_catalogue(
      "date,cloud,gpu,gpus_per_instance,instance,ondemand_usd_per_gpu_hour,reserved_1y_usd_per_gpu_hour,reserved_3y_usd_per_gpu_"
      "hour\n"
      "2026-08-01,aws,H100,8,P5.48xlarge,6.88,9.9,3\n2026-08-02,aws,H100,8,p5.48xlarge,6.88,5,3\n",
      "r.csv", {});
  ASSERT_TRUE(p) << p.error().what;
  ASSERT_EQ(p->flags.size(), 1U);
  EXPECT_EQ(p->flags[0].why, "reserved_1y at 9.9 USD is dearer than on demand at 6.88");
  EXPECT_EQ(p->rows[0].instance, p->rows[1].instance) << "one machine, whatever its capitals";
}

TEST(PriceCatalogue, RowsThatAreThereTwiceCountOnceAndAreTold) {
  const RentalPrices p =
      vms("p5.48xlarge,H100,8,192,2048,56,21,r1,a\np5.48xlarge,H100,8,192,2048,56,21,r1,a\n"
          "p5.48xlarge,H100,8,192,2048,64,21,r1,a\np5.48xlarge,H100,8,192,2048,72,21,r2,a\n");
  EXPECT_EQ(p.left_out, 1U);
  ASSERT_TRUE(flag(p, PriceTrap::twice));
  EXPECT_EQ(flag(p, PriceTrap::twice)->why, "line 2 has it at the same price");
  EXPECT_EQ(p.kept, 3U);
  EXPECT_EQ(row(p, "p5.48xlarge")->flags, "twice") << "with another price it stays, in doubt";
}

TEST(PriceCatalogue, AFileThatEndsWithinALineIsTold) {
  const RentalPrices p = vms("p5.48xlarge,H100,8,192,2048,56,21,r1,a\np5.48xlarge,H100,8,192,2048,56,21,r2,b");
  ASSERT_TRUE(flag(p, PriceTrap::cut_off)) << "its last cell may be a part of what it was";
  EXPECT_EQ(flag(p, PriceTrap::cut_off)->line, 3);
  EXPECT_EQ(p.kept, 2U);
  const CatalogueAsk ask{.as_of = 20'000, .cloud = "aws"};
  EXPECT_FALSE(parse_price_catalogue(std::string(kVms) + "p5.48xlarge,H100,8,192,20", "vms.csv", ask)) << "too few cells";
  const auto empty = parse_price_catalogue(kVms, "vms.csv", ask);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().what, "vms.csv:1: a header, and no rows");
}

TEST(PriceCatalogue, OffersHaveARowForEachOfTheTwoPrices) {
  const std::string head =
      "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor\n"
      "p5.48xlarge,r1,56,192,2048,8,H100,80,False,,nvidia\np5.48xlarge,r1,24,192,2048,8,H100,80,True,,nvidia\n"
      "p5.48xlarge,r2,64,192,2048,8,H100,80,False,,nvidia\nm5.large,r1,0.1,2,8,0,,,False,,\n";
  const auto p = parse_price_catalogue(head, "aws.csv", {.as_of = 20'000, .cloud = "aws"});
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->form, "offers");
  ASSERT_EQ(p->rows.size(), 1U);
  EXPECT_DOUBLE_EQ(*p->rows[0].at(RentTerm::ondemand), 7);
  EXPECT_DOUBLE_EQ(*p->rows[0].at(RentTerm::spot), 3);
  EXPECT_EQ(p->kept, 3U);
  EXPECT_EQ(p->left_out, 1U);
  EXPECT_TRUE(p->flags.empty());
  const auto odd =
      parse_price_catalogue(head + "v5p-8,r1,16.8,1,1,1,v5p-8,0,False,,google\np5en.48xlarge,r1,64,1,1,8,H200,80,False,,nvidia\n",
                            "aws.csv", {.as_of = 20'000, .cloud = "aws"});
  ASSERT_TRUE(odd) << odd.error().what;
  EXPECT_TRUE(flag(*odd, PriceTrap::not_gpu, "v5p-8"));
  EXPECT_TRUE(flag(*odd, PriceTrap::wrong_memory, "p5en.48xlarge"));
  EXPECT_FALSE(parse_price_catalogue(head + "p5.4xlarge,r1,7,1,1,1,H100,80,maybe,,nvidia\n", "aws.csv",
                                     {.as_of = 20'000, .cloud = "aws"}));
}

TEST(PriceCatalogue, AnotherCurrencyTakesARateThatSomebodyGave) {
  const std::string columns =
      "date,cloud,gpu,gpus_per_instance,instance,ondemand_eur_per_gpu_hour,spot_eur_per_gpu_hour\n2026-08-01,ovh,H100,1,a,2.5,"
      "1\n";
  const auto none = parse_price_catalogue(columns, "e.csv", {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "e.csv:2: prices in EUR");
  EXPECT_FALSE(
      parse_price_catalogue(columns, "e.csv", {.as_of = {}, .cloud = {}, .rate = ExchangeRate{"GBP", 1.3, "2026-08-01"}}));
  const CatalogueAsk with{.as_of = {}, .cloud = {}, .rate = ExchangeRate{"EUR", 1.2, "2026-07-31"}};
  const auto p = parse_price_catalogue(columns, "e.csv", with);
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_DOUBLE_EQ(*p->rows[0].at(RentTerm::ondemand), 3);
  ASSERT_TRUE(flag(*p, PriceTrap::converted));
  EXPECT_EQ(flag(*p, PriceTrap::converted)->done, "kept with flag, at 1.2 USD of 2026-07-31, whatever their own day");
  EXPECT_EQ(p->rows[0].flags, "converted");
  const auto why = [&](const char* text) {
    const auto r = parse_price_catalogue(text, "e.csv", with);
    return r ? std::string("taken") : r.error().what;
  };
  EXPECT_EQ(
      why("date,cloud,gpu,gpus_per_instance,instance,ondemand_usd_per_gpu_hour,currency\n2026-08-01,ovh,H100,1,a,2.5,EUR\n"),
      "e.csv:2: the row is in EUR, its column's name in USD");
  EXPECT_EQ(why("date,cloud,gpu,gpus_per_instance,instance,ondemand_usd_per_gpu_hour,spot_eur_per_gpu_hour\n"),
            "e.csv:1: columns in EUR and in USD");
}

TEST(PriceCatalogue, OurOwnFormComesBackAsItWasWritten) {
  const auto p = parse_price_catalogue(kSnapshot, "s.csv", {});
  ASSERT_TRUE(p);
  const std::string text = render_rental_csv(*p);
  const auto again = parse_price_catalogue(text, "ours.csv", {});
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->form, "muster");
  ASSERT_EQ(again->rows.size(), p->rows.size());
  EXPECT_EQ(again->marked, 3U);
  for (std::size_t i = 0; i < p->rows.size(); ++i) {
    EXPECT_EQ(again->rows[i].instance, p->rows[i].instance);
    EXPECT_EQ(again->rows[i].usd_per_gpu_hour, p->rows[i].usd_per_gpu_hour);
    EXPECT_EQ(again->rows[i].day, p->rows[i].day);
    EXPECT_EQ(again->rows[i].flags, p->rows[i].flags) << "what was doubted stays in doubt";
  }
}

TEST(PriceCatalogue, WhatIsNoListIsRefusedWithItsLine) {
  const auto why = [](const std::string& text) {
    const auto p = parse_price_catalogue(text, "s.csv", {});
    EXPECT_FALSE(p) << text;
    return p ? std::string() : p.error().what;
  };
  const std::string head = "date,cloud,accelerator,instance_type,zones,ondemand_median_usd_gpu_h,spot_median_usd_gpu_h,source\n";
  EXPECT_EQ(why("a,b\n1,2\n"), "s.csv:1: no list of prices that is known");
  EXPECT_EQ(why(head + "2026-02-30,aws,H100,a,1,3,1,x\n"), "s.csv:2: '2026-02-30' is no day such as 2026-08-22");
  EXPECT_EQ(why(head + "2026-02-20,aws,H100,a,1,dear,1,x\n"), "s.csv:2: 'dear' is no price of an hour");
  EXPECT_EQ(why(head + "2026-02-20,aws,H100,a,1,-3,1,x\n"), "s.csv:2: '-3' is no price of an hour");
}

TEST(PriceCatalogue, NamesOfOneGpu) {
  EXPECT_TRUE(same_gpu("H100", "NVIDIA H100 SXM5 80GB"));
  EXPECT_TRUE(same_gpu("h200", "H200-SXM"));
  EXPECT_TRUE(same_gpu("A100-80GB", "NVIDIA A100 SXM4 80 GB"));
  EXPECT_FALSE(same_gpu("A100", "A100-80GB"));
  EXPECT_FALSE(same_gpu("H100", "H100-NVL"));
  EXPECT_FALSE(same_gpu("H100", "NVIDIA H100 PCIe"));
}

std::string public_file(const char* name) {
  const char* folder = std::getenv("MUSTER_DATA");
  std::ifstream in(std::string(folder == nullptr ? "" : folder) + "/cost/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return folder == nullptr ? "" : text.str();
}

TEST(PriceCatalogue, PublicListsAreReadAndTheirTrapsAreFound) {
  const std::string hours = public_file("cloud_gpu_hour_prices.csv"), history = public_file("cloud_gpu_price_history.csv"),
                    quotations = public_file("gpu_purchase_and_cloud_prices_epoch.csv");
  if (hours.empty() || history.empty() || quotations.empty()) GTEST_SKIP() << "cost of $MUSTER_DATA is not there";
  const auto h = parse_price_catalogue(hours, "hours", {.as_of = {}, .cloud = {}, .keep_stale = true});
  ASSERT_TRUE(h) << h.error().what;
  ASSERT_TRUE(flag(*h, PriceTrap::impossible_count, "Standard_ND96isr_H100_v5"));
  EXPECT_NEAR(*row(*h, "Standard_ND96isr_H100_v5")->at(RentTerm::ondemand), 12.29, 0.01) << "98.32 USD over eight";
  for (const char* cloud : {"azure", "oci", "do "}) EXPECT_TRUE(flag(*h, PriceTrap::stale, cloud)) << cloud;
  EXPECT_FALSE(flag(*h, PriceTrap::stale, "aws"));
  EXPECT_TRUE(flag(*h, PriceTrap::bid_floor, "mithril h200.8x"));
  EXPECT_TRUE(flag(*h, PriceTrap::spot_is_ondemand, "runpod"));
  EXPECT_TRUE(flag(*h, PriceTrap::without_host, "gcp"));
  EXPECT_TRUE(flag(*h, PriceTrap::no_ondemand, "p5e.48xlarge"));
  EXPECT_EQ(h->rows.size() + h->left_out, h->read);
  EXPECT_LT(parse_price_catalogue(hours, "hours", {})->rows.size(), h->rows.size()) << "stale ones are left out";
  const auto dated = parse_price_catalogue(history, "history", {});
  ASSERT_TRUE(dated) << dated.error().what;
  EXPECT_GT(dated->rows.size(), 700U);
  EXPECT_TRUE(flag(*dated, PriceTrap::spot_is_ondemand, "runpod"));
  const auto q = parse_price_catalogue(quotations, "quotations", {});
  ASSERT_TRUE(q) << q.error().what;
  EXPECT_GT(q->purchases, 40U);
  EXPECT_TRUE(
      std::any_of(q->rows.begin(), q->rows.end(), [](const RentalRow& r) { return r.at(RentTerm::reserved_3y).has_value(); }));
}

}  // namespace
}  // namespace muster
