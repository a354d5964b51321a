#include "ingest/fault_rates.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::string_view kHead = "kind,per_gpu_hour,source,note\n";

TEST(FaultRates, ReadsRowsAndQuotedFields) {
  const auto r = parse_fault_rates(std::string(kHead) + "thermal,2.8e-07,\"A, B \"\"C\"\"\",why\n\nnic_flap,1e-5,s,\n");
  ASSERT_TRUE(r);
  ASSERT_EQ(r->size(), 2U);
  EXPECT_EQ((*r)[0].kind, "thermal");
  EXPECT_DOUBLE_EQ((*r)[0].per_gpu_hour, 2.8e-7);
  EXPECT_EQ((*r)[0].source, "A, B \"C\"");
  EXPECT_EQ((*r)[1].line, 4);
}

TEST(FaultRates, RefusesWithFileAndLine) {
  const auto why = [](std::string_view rows) {
    const auto r = parse_fault_rates(std::string(kHead) + std::string(rows), "x.csv");
    return r ? std::string() : r.error().what;
  };
  EXPECT_EQ(why("a,fast,s,n\n").substr(0, 8), "x.csv:2:");
  EXPECT_EQ(why("a,1e-6,s,n\na,1e-6,s,n\n").substr(0, 8), "x.csv:3:");
  EXPECT_EQ(why("a,-1,s,n\n").substr(0, 8), "x.csv:2:");
  EXPECT_EQ(why("a,nan,s,n\n").substr(0, 8), "x.csv:2:");
  EXPECT_EQ(why("a,1e-6,s\n").substr(0, 8), "x.csv:2:");
  EXPECT_EQ(why("a,1e-6,\"s,n\n").substr(0, 8), "x.csv:2:");
  EXPECT_EQ(why("").substr(0, 8), "x.csv:1:");
  EXPECT_FALSE(parse_fault_rates("kind;rate\n"));
  EXPECT_FALSE(parse_fault_rates(""));
}

}  // namespace
}  // namespace muster
