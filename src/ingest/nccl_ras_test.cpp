#include "ingest/nccl_ras.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::string_view kHead =
    "NCCL version 2.26.2 compiled with CUDA 12.6\nCUDA runtime version 12060, driver version 12060\n\nJob "
    "summary\n===========\n\n"
    "  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n"
    "      4          8            1         32       32\n\nCommunicators... (2.05s)\n=============\n\n"
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n";

RasReport report(const std::string& tail) { return parse_nccl_ras(std::string(kHead) + tail); }

TEST(NcclRas, a_healthy_job_has_no_problems) {
  const RasReport r = report(
      "    0         1         4         8        32        32   RUNNING      OK\n\nErrors\n======\n\nWarnings\n========\n");
  EXPECT_TRUE(r.recognised);
  EXPECT_EQ(r.version, "2.26.2");
  EXPECT_EQ(r.nodes, 4);
  EXPECT_EQ(r.processes, 32);
  EXPECT_EQ(r.gpus, 32);
  EXPECT_EQ(r.took_s, 2.05);
  ASSERT_EQ(r.groups.size(), 1u);
  EXPECT_EQ(r.groups[0].status, "RUNNING");
  EXPECT_EQ(r.groups[0].errors, "OK");
  EXPECT_EQ(r.groups[0].ranks_expected, 32);
  EXPECT_TRUE(r.problems.empty());
  EXPECT_EQ(r.not_understood, 0u);
}

TEST(NcclRas, names_processes_and_ranks_that_do_not_answer) {
  const RasReport r = report(
      "    0         1         4       7-8        32        31   RUNNING  INCOMPLETE\n\nErrors\n======\n\nDEAD\n"
      "  1 job process is considered dead (unreachable via the RAS network)\n"
      "  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n#0-0 (cf264af53edbe986) INCOMPLETE\n"
      "  Missing communicator data from 2 ranks\n  The missing ranks: 21, 22\n\nWarnings\n========\n\nTIMEOUT\n"
      "  Encountered 2 communication timeouts while gathering communicator data\n");
  EXPECT_EQ(r.groups.at(0).errors, "INCOMPLETE");
  EXPECT_EQ(r.groups[0].ranks, 31);
  ASSERT_EQ(r.problems.size(), 3u);
  EXPECT_EQ(r.problems[0].what, "DEAD");
  ASSERT_EQ(r.problems[0].members.size(), 1u);
  EXPECT_EQ(r.problems[0].members[0].pid, 3487984);
  EXPECT_EQ(r.problems[0].members[0].node, "172.16.64.213");
  EXPECT_EQ(r.problems[0].members[0].gpus, "5");
  EXPECT_EQ(r.problems[1].comm, "cf264af53edbe986");
  ASSERT_EQ(r.problems[1].members.size(), 2u);
  EXPECT_EQ(r.problems[1].members[1].rank, 22);
  EXPECT_TRUE(r.problems[2].warning);
  EXPECT_EQ(r.problems[2].what, "TIMEOUT");
  EXPECT_EQ(r.not_understood, 0u);
}

TEST(NcclRas, reads_who_is_out_of_step) {
  const RasReport r = report(
      "    0         1         4         8        32        32   RUNNING  MISMATCH\n\nErrors\n======\n\nWarnings\n========\n\n"
      "#0-0 (fa93daea854b060b) MISMATCH\n  Communicator ranks have different AllGather operation counts\n"
      "  30 ranks have launched up to operation 640\n  2 ranks have launched up to operation 641\n"
      "  Rank 12 -- GPU 4 managed by process 323032 on node 10.137.190.124\n"
      "  Rank 13 -- GPU 5 managed by process 323033 on node 10.137.190.124\n");
  ASSERT_EQ(r.problems.size(), 1u);
  const RasProblem& p = r.problems[0];
  EXPECT_EQ(p.op, "AllGather");
  ASSERT_EQ(p.counts.size(), 2u);
  EXPECT_EQ(p.counts[0], (std::pair<std::int64_t, std::int64_t>{30, 640}));
  ASSERT_EQ(p.members.size(), 2u);
  EXPECT_EQ(p.members[1].rank, 13);
  EXPECT_EQ(p.members[1].pid, 323033);
  EXPECT_EQ(p.members[1].gpus, "5");
  EXPECT_EQ(p.members[1].launched, 641) << "those of a count stand after it";
  EXPECT_EQ(r.not_understood, 0u);
}

// As NCCL 2.28.9 printed it while rank 2 slept.
TEST(NcclRas, reads_the_one_rank_that_is_behind) {
  const RasReport r = parse_nccl_ras(
      "NCCL version 2.28.9 compiled with CUDA 13.0\nCUDA runtime version 13000, driver version 13000\n\nJob summary\n"
      "===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n"
      "      1          4            1          4        4\n\nCommunicators... (0.000s)\n=============\n\n"
      "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
      "    #  in group  per comm  per node  per comm  in group\n"
      "    0         1         1         4         4         4   RUNNING  MISMATCH\n\nErrors\n======\n\nWarnings\n========\n\n"
      "#0-0 (3194d8a762f110e0) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
      "  3 ranks have launched up to operation 401\n"
      "  Rank 2 has launched up to operation 400 -- GPU 0 managed by process 600 on node 127.0.0.1\n\n");
  EXPECT_EQ(r.not_understood, 0u);
  EXPECT_EQ(r.gpus, 4);
  ASSERT_EQ(r.problems.size(), 1u);
  const RasProblem& p = r.problems[0];
  EXPECT_EQ(p.group, 0);
  EXPECT_EQ(p.op, "AllReduce");
  EXPECT_EQ(p.counts, (std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 401}, {1, 400}}));
  ASSERT_EQ(p.members.size(), 1u);
  EXPECT_EQ(p.members[0].rank, 2);
  EXPECT_EQ(p.members[0].launched, 400);
  EXPECT_EQ(p.members[0].pid, 600);
  EXPECT_EQ(p.members[0].node, "127.0.0.1");
}

TEST(NcclRas, is_bounded_and_counts_what_it_does_not_know) {
  EXPECT_FALSE(parse_nccl_ras("hello\nworld\n").recognised);
  EXPECT_EQ(parse_nccl_ras("hello\nworld\n").not_understood, 2u);
  std::string many = "Errors\n";
  for (int i = 0; i < 3000; ++i) many += "DEAD\n  Process 1 on node x managing GPU 5\n";
  const RasReport r = parse_nccl_ras(many);
  EXPECT_EQ(r.problems.size(), kRasItemsMax);
  EXPECT_EQ(r.left_out, 3000 - kRasItemsMax);
}

}  // namespace
}  // namespace muster
