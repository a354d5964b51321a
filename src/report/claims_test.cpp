#include "report/claims.h"

#include <gtest/gtest.h>

#include <map>

#include "ingest/calibration_file.h"
#include "ingest/collective_rows.h"
#include "ingest/hardware_file.h"
#include "predict/calibrate.h"

namespace muster::design {
namespace {

const std::map<std::string, Claim>& all() {
  static const std::map<std::string, Claim> found = [] {
    const GpuModel& h100 = *find_gpu_model("h100");
    const auto c =
        predict::choose_calibration(shipped_calibrations(), shipped_software(), gpu_models(), h100, Dtype::bf16, "", false);
    const predict::Collectives collectives(shipped_collectives(), shipped_collective_classes(), gpu_models(),
                                           shipped_collective_spread());
    std::map<std::string, Claim> out;
    for (Claim& one :
         claims({*find_gpu_model("a100"), h100, *find_gpu_model("h200"), c->calibration, transformers(), collectives}))
      out[one.id] = std::move(one);
    return out;
  }();
  return found;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Figures that were worked out by hand, or published.
TEST(Claims, EachIsReproducedOrRefuted) {
  ASSERT_EQ(all().size(), 23U);
  const std::map<std::string, std::vector<const char*>> figures = {
      {"O1", {"sum 26.8 M", "44.8/9.3/14.9/11.2/6.7/13.1"}},
      {"O2", {"60 % of a node", "5.2/5.6/6.4", "4.0/4.3/4.9"}},
      {"O3", {"12.75 MW", "19.8 to 16.6", "1.7/2.2/2.8/4.2"}},
      {"O4", {"27 to 33 %"}},
      {"O5", {"8.33 %"}},
      {"O6", {"43 %", "42 %"}},
      {"O9", {"120 s", "65 %"}},
      {"O11", {"from 14 to 6"}},
      {"O15", {"4625 USD a GPU and month"}},
      {"O16", {"4.10", "2.74"}},
      {"O18", {"1.43-fold"}},
      {"O19", {"300 GB/s one way, 600 both"}},
      {"O20", {"2353 to 3922"}},
      {"O21", {"120 km"}},
  };
  for (const auto& [id, parts] : figures) {
    for (const char* part : parts) EXPECT_TRUE(has(all().at(id).figure, part)) << id << ": " << all().at(id).figure;
  }
  EXPECT_TRUE(has(all().at("O1").because, "1.91 MW"));
  EXPECT_TRUE(has(all().at("O3").because, "10.6 M at 0.05"));
  EXPECT_TRUE(has(all().at("O3").because, "25.7 MW"));
  EXPECT_TRUE(has(all().at("O4").because, "67.0 million"));
}

TEST(Claims, WhatIsWrongIsCalledWrong) {
  for (const char* id : {"O6", "O15", "O18", "O19", "O20", "O21", "O22"}) EXPECT_EQ(all().at(id).verdict, Verdict::refuted) << id;
  for (const char* id : {"O10", "O12", "O23"}) EXPECT_EQ(all().at(id).verdict, Verdict::not_measured) << id;
  for (const auto& [id, c] : all()) EXPECT_FALSE(c.because.empty()) << id;
}

}  // namespace
}  // namespace muster::design
