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

}  // namespace
}  // namespace muster
