#include "adapters/prometheus/coverage.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace muster {
namespace {

class CoverageTest : public testing::Test {
 protected:
  CoverageTest() { site.nodes = {{"node0001"}, {"node0002"}, {"node0003"}, {"node0004"}, {"node0005"}}; }
  void say(std::uint32_t node, Field f) {
    const Sample s{{}, NodeId{node}, 0, f, 1};
    coverage.add({&s, 1});
  }
  std::string told() const { return join(coverage.describe(site), "\n"); }
  Site site;
  Coverage coverage;
};

TEST_F(CoverageTest, NothingAtAllIsSaidToBeNothing) {
  EXPECT_NE(told().find("0 of 5 nodes are heard"), std::string::npos);
  EXPECT_NE(told().find("no series of 5 nodes (node0001, node0002, node0003 ...)"), std::string::npos);
  EXPECT_NE(told().find("no GPU readings at all"), std::string::npos);
}

TEST_F(CoverageTest, TheDefaultListOfCountersIsSeenToLackErrors) {
  for (std::uint32_t n = 0; n < 5; ++n) say(n, Field::gpu_temp_c);
  EXPECT_NE(told().find("5 of 5 nodes are heard, 5 of them with GPU temperatures, 0 with InfiniBand"), std::string::npos);
  for (const char* lack : {"no ECC counters", "no pending row remaps", "no NVLink error counters", "no throttle reasons",
                           "no InfiniBand series", "muster fleet emit dcgm-counters"}) {
    EXPECT_NE(told().find(lack), std::string::npos) << lack;
  }
  EXPECT_EQ(told().find("no series of"), std::string::npos);
}

TEST_F(CoverageTest, WhatIsThereIsNotMissed) {
  for (std::uint32_t n = 0; n < 5; ++n) {
    for (const Field f : {Field::gpu_temp_c, Field::ecc_dbe_total, Field::remap_pending, Field::nvlink_errors_total,
                          Field::clock_reasons, Field::ib_up}) {
      say(n, f);
    }
  }
  EXPECT_EQ(coverage.describe(site).size(), 1U) << told();
}

}  // namespace
}  // namespace muster
