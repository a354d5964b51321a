#include "ingest/slurm_start.h"

#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

TEST(HookTimes, AreReadForOneJob) {
  const auto runs = parse_hook_runs(
      "16 0 prolog 1794808051.5 1794808051.75 0\n"
      "17 0 prolog 1794808052.000000001 1794808052.25 6\n"
      "17 1 prolog 1794808060 1794808061 0\n17 1 epilog 1794808070.1 1794808070.2 0\n",
      "17", "gpu1");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].began.ns, 1'794'808'052'000'000'001);
  EXPECT_EQ(runs[0].ended.ns, 1'794'808'052'250'000'000);
  EXPECT_EQ(runs[0].status, 6);
  EXPECT_EQ(runs[1].restart, 1U);
  EXPECT_FALSE(runs[1].epilog);
  EXPECT_TRUE(runs[2].epilog);
  EXPECT_EQ(runs[2].node, "gpu1");
}

TEST(HookTimes, LinesThatAreNoneAreLeftOut) {
  for (const char* bad :
       {"17", "17 0 prolog 1 2", "17 0 prolog 1 2 0 9", "17 x prolog 1 2 0", "17 0 other 1 2 0", "17 0 prolog 1e9 2 0",
        "17 0 prolog 1. 2 0", "17 0 prolog 1.1234567891 2 0", "17 0 prolog -1 2 0", "17 0 prolog 99999999999 2 0"})
    EXPECT_TRUE(parse_hook_runs(bad, "17", "n").empty()) << bad;
}

TEST(StartLog, TellsWhenAJobGotItsNodesItsScriptAndItsFirstStep) {
  const auto marks = parse_start_log(
      "[2026-11-16T05:47:30.507] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=705 usec=522\n"
      "[2026-11-16T05:47:31.296] sched: Allocate JobId=1 NodeList=gpu[0001-0004] #CPUs=4\n"
      "[2026-11-16T05:47:31.296] sched: Allocate JobId=11 NodeList=gpu5 #CPUs=4\n"
      "[2026-11-16T05:47:31.773] Launching batch job 1 for UID 65534\n"
      "[2026-11-16T05:47:32.254] launch task StepId=1.0 request from UID:65534 GID:65534\n"
      "[2026-11-16T05:47:33.000] launch task StepId=1.1 request from UID:65534 GID:65534\n"
      "[2026-11-16T05:47:34.000] sched/backfill: _start_job: Started JobId=1 in batch on gpu1\n",
      "1");
  ASSERT_EQ(marks.size(), 4U);
  EXPECT_EQ(marks[0].mark, StartMark::allocated);
  EXPECT_EQ(marks[0].at.ns, 1'794'808'051'296'000'000);
  EXPECT_EQ(marks[1].mark, StartMark::batch);
  EXPECT_EQ(marks[2].mark, StartMark::step);
  EXPECT_EQ(marks[3].mark, StartMark::allocated);
}

TEST(StartLog, NothingInALineThatIsCutOrForgedIsTaken) {
  for (const char* bad :
       {"[2026-11-16T05:47:31.296", "[2026-11-16T05:47:31.296] sched: Allocate JobId=1", "sched: Allocate JobId=1 ",
        "[2026-13-16T05:47:31.296] sched: Allocate JobId=1 x", "[0000000000000000000000] sched: Allocate JobId=1 x",
        "[2026-11-16T05:47:31.296] job x says sched: Allocate JobId=1 NodeList"})
    EXPECT_TRUE(parse_start_log(bad, "1").empty()) << bad;
}

}  // namespace
}  // namespace muster::slurm
