#include "ingest/slurm_sacct.h"

#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

// A row as `sacct -a -X -n -P --delimiter '#k1#'` prints it.
std::string row(const std::string& id, const std::string& state, const std::string& alloc, const std::string& asked,
                const std::string& name) {
  std::string out;
  for (const std::string& v :
       {id, state, std::string("1794807000"), std::string("1794807010"), std::string("1794807610"), std::string("4"),
        std::string("gpu[0001-0004]"), alloc, asked, std::string("batch"), std::string("normal"), std::string("users"),
        std::string("nobody"), std::string("10"), std::string("326")})
    out += v + "#k1#";
  return out + name + "\n";
}

TEST(Sacct, JobsThatEndedAreRows) {
  const auto rows =
      parse_sacct(row("17", "COMPLETED", "billing=4,cpu=4,gres/gpu=32,mem=4G,node=4", "gres/gpu=32", "train"), "k1");
  ASSERT_TRUE(rows);
  const JobRow& j = rows->front();
  EXPECT_EQ(j.id.number, 17U);
  EXPECT_EQ(j.state, "COMPLETED");
  EXPECT_EQ(j.gpus, 32U);
  EXPECT_EQ(j.nodes, 4U);
  EXPECT_EQ(j.node_list, "gpu[0001-0004]");
  EXPECT_EQ((j.ended - j.started).seconds(), 600);
  EXPECT_EQ(j.time_limit_s, 600);
  EXPECT_EQ(j.user, "nobody");
  EXPECT_EQ(j.name, "train");
}

TEST(Sacct, WhatWasGivenGoesBeforeWhatWasAskedFor) {
  EXPECT_EQ(parse_sacct(row("1", "COMPLETED", "cpu=4,gres/gpu=16", "cpu=4,gres/gpu=8", "a"), "k1")->front().gpus, 16U);
  EXPECT_EQ(parse_sacct(row("1", "CANCELLED by 0", "", "cpu=4,gres/gpu=8", "a"), "k1")->front().gpus, 8U);
  EXPECT_EQ(parse_sacct(row("1", "CANCELLED by 0", "", "", "a"), "k1")->front().state, "CANCELLED");
}

TEST(Sacct, NobodyNamesAJobSoThatItIsTakenForAnother) {
  const std::string evil = "x\n99#k2#COMPLETED#k2#";
  const auto rows = parse_sacct(row("17_3", "FAILED", "", "", evil) + row("18", "TIMEOUT", "", "", "b\n\nc"), "k1");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ(rows->at(0).name, evil);
  EXPECT_EQ(rows->at(0).id.array_index, 4U);
  EXPECT_EQ(rows->at(1).id.number, 18U);
  EXPECT_EQ(rows->at(1).name, "b\n\nc");
}

TEST(Sacct, WhatIsCutOffIsNoAnswer) {
  const std::string whole = row("17", "COMPLETED", "", "", "a") + row("18", "COMPLETED", "", "", "b");
  EXPECT_EQ(parse_sacct(whole, "k1")->size(), 2U);
  EXPECT_TRUE(parse_sacct("", "k1")->empty());
  for (std::size_t n = 1; n < whole.size(); ++n) {
    const auto r = parse_sacct(std::string_view(whole).substr(0, n), "k1");
    if (r) {
      EXPECT_EQ(r->size(), 1U) << n << ": only where the first row ends";
    }
  }
  EXPECT_FALSE(parse_sacct("sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection\n", "k1"));
}

}  // namespace
}  // namespace muster::slurm
