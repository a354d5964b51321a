#include "ingest/nccl_tuning.h"

#include <gtest/gtest.h>

#include "ingest/nccl_log.h"

namespace muster {
namespace {

constexpr std::string_view kTable =
    "vm:565:565 [0] NCCL INFO   Algorithm   |                            Tree                  |                            Ring "
    " "
    "                |\n"
    "vm:565:565 [0] NCCL INFO   Protocol    |             LL |          LL128 |         Simple |             LL |          LL128 "
    "| "
    "        Simple |\n"
    "vm:565:565 [0] NCCL INFO  Max NThreads |            512 |            640 |            512 |            512 |            640 "
    "| "
    "           256 |\n"
    "vm:565:565 [0] NCCL INFO     AllGather |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |    21.6/   0.8 |    39.5/   0.0 "
    "| "
    "   50.4/   1.6 |\n"
    "vm:565:565 [0] NCCL INFO     AllReduce |    26.8/   0.1 |    48.0/   0.0 |    64.4/   0.5 |    36.6/   0.4 |    65.0/   0.0 "
    "| "
    "   92.4/   0.8 |\n"
    "vm:565:565 [0] NCCL INFO   Algorithm   |                             PAT                  |\n"
    "vm:565:565 [0] NCCL INFO     AllGather |     0.0/   0.0 |     0.0/   0.0 |     9.0/   2.5 |\n";

const NcclBelief* find(const std::vector<NcclBelief>& all, Collective op, NcclAlgorithm a, NcclProtocol p) {
  for (const NcclBelief& b : all) {
    if (b.op == op && b.algorithm == a && b.protocol == p) return &b;
  }
  return nullptr;
}

TEST(NcclTuning, StartsAndRatesOfEveryWay) {
  const NcclLog log = parse_nccl_log(kTable, "a.log");
  const NcclBelief* tree = find(log.beliefs, Collective::all_reduce, NcclAlgorithm::tree, NcclProtocol::ll);
  ASSERT_NE(tree, nullptr);
  EXPECT_DOUBLE_EQ(tree->latency_us, 26.8);
  EXPECT_DOUBLE_EQ(tree->gb_s, 0.1);
  const NcclBelief* ring = find(log.beliefs, Collective::all_reduce, NcclAlgorithm::ring, NcclProtocol::simple);
  ASSERT_NE(ring, nullptr);
  EXPECT_DOUBLE_EQ(ring->gb_s, 0.8);
  const NcclBelief* pat = find(log.beliefs, Collective::all_gather, NcclAlgorithm::pat, NcclProtocol::simple);
  ASSERT_NE(pat, nullptr);
  EXPECT_DOUBLE_EQ(pat->latency_us, 9.0);
}

TEST(NcclTuning, TheFirstTableCounts) {
  std::string second(kTable);
  const std::size_t at = second.find("26.8/   0.1");
  second.replace(at, 11, "11.1/   9.9");
  const NcclLog log = parse_nccl_log(std::string(kTable) + second, "a.log");
  EXPECT_DOUBLE_EQ(find(log.beliefs, Collective::all_reduce, NcclAlgorithm::tree, NcclProtocol::ll)->latency_us, 26.8);
}

TEST(NcclTuning, ChoicesBySize) {
  const NcclLog log = parse_nccl_log(
      "vm:565:565 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}\n"
      "vm:565:565 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..3}\n"
      "vm:565:565 [0] NCCL INFO AllReduce: 8192 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..0}\n",
      "a.log");
  ASSERT_EQ(log.picks.size(), 2u);
  EXPECT_EQ(log.picks[0].algorithm, "RING");
  EXPECT_EQ(log.picks[0].channels, 4);
  EXPECT_DOUBLE_EQ(log.picks[1].bytes, 8192);
}

TEST(NcclTuning, NamesInEverySpelling) {
  for (const char* name : {"NVLS_TREE", "NVLSTree", "nvls_tree"}) EXPECT_EQ(nccl_algorithm(name), NcclAlgorithm::nvls_tree);
  EXPECT_EQ(nccl_algorithm("CollnetDirect"), NcclAlgorithm::collnet_direct);
  EXPECT_EQ(nccl_protocol("LL128"), NcclProtocol::ll128);
  EXPECT_FALSE(nccl_algorithm("Tree,Ring"));
  EXPECT_FALSE(nccl_algorithm(""));
}

TEST(NcclTuning, WhatIsNoTableIsLeft) {
  NcclTuningReader r;
  EXPECT_FALSE(r.message("a", "AllReduce | 1/2 | 3/4 | 5/6 |"));  // without a header
  EXPECT_FALSE(r.message("a", "a | b"));
  EXPECT_TRUE(r.message("a", "  Algorithm | Tree | Spiral |"));
  EXPECT_TRUE(r.message("a", " AllReduce | 1/2 | nan/4 | -5/6 | 7/8 | 1/1 | 1/1 |"));
  ASSERT_EQ(r.finish().size(), 1u);
  EXPECT_DOUBLE_EQ(r.finish()[0].gb_s, 2);
}

}  // namespace
}  // namespace muster
