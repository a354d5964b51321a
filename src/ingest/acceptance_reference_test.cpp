#include "ingest/acceptance_reference.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kHead = "suite,model,metric,median,sigma,cards,source\n";

TEST(AcceptanceReference, RowsOfTheSuiteAreRead) {
  const auto r = parse_acceptance_references(
      std::string(kHead) + "1,NVIDIA H200,hbm_read,4690,0.003,2,two cards\n0,NVIDIA H200,hbm_read,1,0.1,2,x\n", "1");
  ASSERT_TRUE(r) << r.error().what;
  ASSERT_EQ(r->size(), 1U) << "what another suite gave is not comparable";
  EXPECT_EQ((*r)[0].median, 4690);
  EXPECT_EQ((*r)[0].cards, 2U);
}

TEST(AcceptanceReference, WhatCannotBeIsRefusedWithItsLine) {
  for (const char* row :
       {"1,NVIDIA H200,hbm_read,-4,0.003,2,x\n", "1,NVIDIA H200,hbm_read,4690,7,2,x\n", "1,,hbm_read,4690,0,2,x\n",
        "1,NVIDIA H200,hbm_read,4690,0.1,0,x\n", "1,NVIDIA H200,hbm_read,4690,0.1,2,\n"}) {
    const auto r = parse_acceptance_references(std::string(kHead) + row, "1");
    ASSERT_FALSE(r) << row;
    EXPECT_NE(r.error().what.find("reference.csv:2: "), std::string::npos) << r.error().what;
  }
}

TEST(AcceptanceReference, WhatShipsCanBeRead) { shipped_acceptance_references("1"); }

}  // namespace
}  // namespace muster
