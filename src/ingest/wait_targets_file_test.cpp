#include "ingest/wait_targets_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(WaitTargetsFile, ClassesBySizeWithNineInTenWhereNothingIsSaid) {
  const auto t = parse_wait_targets(
      "name: promised 2026-10-01\n"
      "targets:\n"
      "  - {gpus: 8, wait: 30m, percent: 95}\n"
      "  - {gpus: 64, wait: 4h}\n"
      "  - {gpus: any, wait: 2d, percent: 80}\n",
      "t.yaml");
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_EQ(t->name, "promised 2026-10-01");
  ASSERT_EQ(t->classes.size(), 3U);
  EXPECT_EQ(t->classes[0].gpus_max, 8U);
  EXPECT_EQ(t->classes[0].wait, minutes(30));
  EXPECT_DOUBLE_EQ(t->classes[0].share, 0.95);
  EXPECT_DOUBLE_EQ(t->classes[1].share, 0.9);
  EXPECT_EQ(t->classes[2].gpus_max, kAnyGpus);
  EXPECT_EQ(t->classes[2].wait, days(2));
}

TEST(WaitTargetsFile, WhatCannotBeIsRefusedWithItsLine) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"targets:\n  - {gpus: 8, wait: 1h}\n  - {gpus: 8, wait: 2h}\n", "t.yaml:3: gpus must grow"},
           {"targets:\n  - {gpus: any, wait: 1h}\n  - {gpus: 8, wait: 2h}\n", "t.yaml:3: gpus must grow"},
           {"targets:\n  - {gpus: 0, wait: 1h}\n", "t.yaml:2: gpus must be a whole number"},
           {"targets:\n  - {gpus: many, wait: 1h}\n", "t.yaml:2: gpus must be a whole number"},
           {"targets:\n  - {gpus: 8}\n", "wait"},
           {"targets:\n  - {gpus: 8, wait: -1h}\n", "wait"},
           {"targets:\n  - {gpus: 8, wait: 0}\n", "wait"},
           {"targets:\n  - {gpus: 8, wait: 1h, percent: 0}\n", "percent"},
           {"targets:\n  - {gpus: 8, wait: 1h, percnt: 90}\n", "percnt"},
           {"targets: []\n", "targets is empty"},
           {"name: x\n", "targets"},
           {"", "empty"}}) {
    const auto t = parse_wait_targets(text, "t.yaml");
    ASSERT_FALSE(t) << text;
    EXPECT_NE(t.error().what.find(why), std::string::npos) << text << t.error().what;
    EXPECT_NE(t.error().what.find("t.yaml"), std::string::npos) << t.error().what;
  }
}

}  // namespace
}  // namespace muster
