#include "ingest/job_log.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Site site() {
  Site s;
  s.gpus_per_node = 8;
  s.nodes = {{"n0"}, {"n1"}};
  return s;
}

std::optional<JobLogRecord> read(std::string_view line) {
  const auto e = parse_train_line(line);
  return e ? job_log_record(*e, JobId{7, 0}, Time{5}, site()) : std::nullopt;
}

TEST(JobLog, AFailedTransferCountsAndAFlushedOneOnlyFollows) {
  const auto failed = read(
      "n1:123:456 [3] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 len=0 vendor err 129");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, JobLogKind::transfer_failed);
  EXPECT_EQ(failed->node.v, 1U);
  EXPECT_EQ(failed->job.number, 7U);
  EXPECT_FALSE(read(
      "n1:123:456 [3] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4711> with status=5 opcode=0 len=0 vendor err 249"));
}

TEST(JobLog, AHostThatIsNoNodeOfTheSiteIsNotBelieved) {
  const auto r = read(
      "elsewhere:123:456 [3] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 len=0 vendor err "
      "129");
  ASSERT_TRUE(r);
  EXPECT_FALSE(r->node.some());
}

TEST(JobLog, WhatIsNoFailureIsNothing) {
  EXPECT_FALSE(read("step 12 loss 3.1"));
  EXPECT_FALSE(read(""));
}

TEST(JobLog, ReadsResultsThatDoNotRepeatAndWhoseTheyAre) {
  for (const char* line :
       {"Rank 13, node n1, device 5: Possible transient error!!", "Rank 13, node n1, device 5: Possible persistent error!!",
        "ERROR:megatron.core.rerun_state_machine:Rank 13, node n1, device 5: Possible transient error!!"}) {
    const auto r = read(line);
    ASSERT_TRUE(r) << line;
    EXPECT_EQ(r->kind, JobLogKind::not_repeatable);
    EXPECT_EQ(r->rank, 13);
    EXPECT_EQ(r->node.v, 1U);
    EXPECT_EQ(r->gpu, 5);
  }
  const auto hash = read("[Rank 9] Hash not matching for decoder.weight in model chunk 0");
  ASSERT_TRUE(hash);
  EXPECT_EQ(hash->kind, JobLogKind::not_repeatable);
  EXPECT_EQ(hash->rank, 9);
  EXPECT_FALSE(hash->node.some());
}

TEST(JobLog, ReadsResultsThatAreNoNumbers) {
  for (const char* line :
       {"AssertionError: Rank 13: found NaN in local grad norm in backward pass before data-parallel communication "
        "collective. Device: 5, node: n1",
        "RuntimeError: Rank 13, node n1, device 5, iteration 7: Unexpected result nan (message='loss is NaN')"}) {
    const auto r = read(line);
    ASSERT_TRUE(r) << line;
    EXPECT_EQ(r->kind, JobLogKind::not_a_number);
    EXPECT_EQ(r->rank, 13);
    EXPECT_EQ(r->node.v, 1U);
    EXPECT_EQ(r->gpu, 5);
  }
  for (const char* line : {"Rank 3, node n1, device 5: Correct result (but possible Application error) (loss is NaN)!",
                           "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536", "found NaN in local grad norm",
                           "Rank x: found NaN in local grad norm", "a Possible transient error of Rank"})
    EXPECT_FALSE(read(line)) << line;
}

TEST(JobLog, ARankOfASmallerGroupIsNobodysRankInTheJob) {
  const std::string tail =
      " Watchdog caught collective operation timeout: WorkNCCL(SeqNum=815, OpType=ALLGATHER, Timeout(ms)=1800000) ran for "
      "1800116 "
      "milliseconds before timing out.";
  EXPECT_EQ(read("[PG 7 Rank 1]" + tail)->rank, -1);
  EXPECT_EQ(read("[rank9]:[E1 ProcessGroupNCCL.cpp:1] [PG 7 Rank 1]" + tail)->rank, 9);
  EXPECT_EQ(read("[PG ID 0 PG GUID 0(default_pg) Rank 1]" + tail)->rank, 1);
}

}  // namespace
}  // namespace muster
