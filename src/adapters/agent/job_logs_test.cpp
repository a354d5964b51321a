#include "adapters/agent/job_logs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/agent/ras_watch.h"

namespace muster::agent {
namespace {

constexpr const char* kTimeout =
    "[rank0]:[E1115 15:27:03.228151671 ProcessGroupNCCL.cpp:689] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=401, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=25000) ran for 25023 milliseconds "
    "before timing out.\n";

TEST(JobOfPath, IsWhatStandsForIt) {
  EXPECT_EQ(job_of_path("/logs/slurm-%j.out", "/logs/slurm-4711.out"), "4711");
  EXPECT_EQ(job_of_path("/logs/slurm-%j.out", "/logs/slurm-17_3.out"), "17_3");
  EXPECT_EQ(job_of_path("/users/*/slurm-%j.out", "/users/ann/slurm-5.out"), "5");
  EXPECT_EQ(job_of_path("/var/log/pods/*_%j_*/*/0.log", "/var/log/pods/team_train-7_9f3c/main/0.log"), "train-7");
  EXPECT_EQ(job_of_path("/logs/train.log", "/logs/train.log"), "/logs/train.log");
  EXPECT_FALSE(job_of_path("/logs/slurm-%j.out", "/logs/slurm-.out"));
  EXPECT_FALSE(job_of_path("/logs/slurm-%j.out", "/logs/deep/slurm-5.out"));
  EXPECT_FALSE(job_of_path("/users/*/slurm-%j.out", "/users/a/b/slurm-5.out"));
}

class JobLogsTest : public ::testing::Test {
 protected:
  JobLogsTest() {
    char name[] = "/tmp/job_logs.XXXXXX";
    dir = mkdtemp(name);
  }
  ~JobLogsTest() override { std::filesystem::remove_all(dir); }
  JobLogs logs() { return JobLogs({dir + "/slurm-%j.out"}, dir + "/memory"); }
  void write(const std::string& name, const std::string& text) { std::ofstream(dir + "/" + name, std::ios::app) << text; }
  std::string dir;
};

TEST_F(JobLogsTest, OnlyNewLinesThatSaySomethingAreHandedOn) {
  write("slurm-1.out", kTimeout);
  JobLogs l = logs();
  EXPECT_EQ(l.ask(), "") << "how old it is cannot be known";
  write("slurm-1.out", "iteration 5 | loss 2.1\n");
  EXPECT_EQ(l.ask(), "");
  write("slurm-1.out", std::string("\"quotes\" and such\n") + kTimeout + "half a li");
  const std::string said = l.ask();
  EXPECT_EQ(said.find("\"job\":\"1\",\"log\":\"[rank0]:[E1115"), 0U) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_EQ(l.ask(), "") << "once";
}

TEST_F(JobLogsTest, MegatronsProgressIsAReportOfTheJob) {
  write("slurm-1.out", "");
  JobLogs l = logs();
  l.ask();
  write("slurm-1.out",
        " iteration      100/  500000 | consumed samples: 1 | elapsed time per iteration (ms): 2000.0 | lm loss: 1 |\n");
  EXPECT_EQ(l.ask(), "\"job\":\"1\",\"report\":{\"step\":100,\"step_s\":2}\n");
  write("slurm-1.out",
        " iteration      101/  500000 | consumed samples: 1 | elapsed time per iteration (ms): 2000.0 | lm loss: 1 |\n");
  EXPECT_EQ(l.ask(), "") << "how far it is, every ten seconds";
  write("slurm-1.out", "  successfully saved checkpoint from iteration     101 to /ckpt [ t 1/2, p 1/4 ]\n");
  EXPECT_EQ(l.ask(), "\"job\":\"1\",\"report\":{\"saved_step\":101}\n") << "a checkpoint at once";
  write("slurm-1.out", "(min, max) time across ranks (ms):\n    save-checkpoint ................: (30000.00, 31000.00)\n");
  EXPECT_EQ(l.ask(), "\"job\":\"1\",\"report\":{\"saved_step\":101,\"saving_s\":31}\n") << "and how long it took";
}

TEST_F(JobLogsTest, AnAgentThatIsKilledGoesOnWhereItWas) {
  write("slurm-1.out", "");
  JobLogs first = logs();
  write("slurm-1.out", "x\n");
  first.ask();
  usleep(1'100'000);  // it remembers once a second
  write("slurm-1.out", "y\n");
  first.ask();
  first.ask();
  write("slurm-1.out", kTimeout);
  write("slurm-2.out", kTimeout);
  JobLogs second = logs();
  const std::string said = second.ask();
  EXPECT_NE(said.find("\"job\":\"1\",\"log\":\"[rank0]"), std::string::npos) << said;
  EXPECT_NE(said.find("\"job\":\"2\",\"log\":\"[rank0]"), std::string::npos) << said;
}

TEST_F(JobLogsTest, AProgressBarHidesNothing) {
  write("slurm-1.out", "");
  JobLogs l = logs();
  l.ask();
  std::string bar;
  while (bar.size() < 20'000) bar += "\r 10%|##        | 100/1000 [00:10<01:30]";
  write("slurm-1.out", bar + "\r" + kTimeout);
  EXPECT_NE(l.ask().find("\"log\":\"[rank0]"), std::string::npos);
}

TEST_F(JobLogsTest, WhatWasWrittenJustBeforeARotationIsRead) {
  write("slurm-1.out", "x\n");
  write("slurm-2.out", "x\n");
  JobLogs l = logs();
  l.ask();
  write("slurm-1.out", kTimeout);
  std::filesystem::rename(dir + "/slurm-1.out", dir + "/old");
  write("slurm-1.out", kTimeout);
  std::string said = l.ask();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
  // Cut and written anew, by the same name.
  std::filesystem::resize_file(dir + "/slurm-2.out", 0);
  l.ask();
  write("slurm-2.out", kTimeout);
  EXPECT_NE(l.ask().find("\"job\":\"2\""), std::string::npos);
}

TEST_F(JobLogsTest, ARotationLosesNothingOfWhatDoesNotFitIntoOneAnswer) {
  write("slurm-1.out", "");
  JobLogs l = logs();
  l.ask();
  std::string many;
  for (int rank = 0; rank < 1500; ++rank) {  // more than an answer holds
    std::string line = kTimeout;
    line.replace(0, 7, "[rank" + std::to_string(rank) + "]");
    many += line;
  }
  write("slurm-1.out", many);
  std::filesystem::rename(dir + "/slurm-1.out", dir + "/old");
  write("slurm-1.out", "");
  std::size_t lines = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string said = l.ask();
    lines += static_cast<std::size_t>(std::count(said.begin(), said.end(), '\n'));
  }
  EXPECT_EQ(lines, 1500U);
}

TEST_F(JobLogsTest, APatternThatMatchesNothingIsSaid) {
  JobLogs l({dir + "/slrum-%j.out"}, dir + "/memory");
  EXPECT_EQ(l.ask(), "?no file matches --job-log yet\n");
  EXPECT_EQ(l.ask(), "");
}

TEST_F(JobLogsTest, ALineOfKubernetesIsReadToo) {
  write("slurm-1.out", "");
  JobLogs l = logs();
  l.ask();
  write("slurm-1.out", std::string("2026-11-15T12:00:00.123456789Z stderr F ") + kTimeout);
  const std::string said = l.ask();
  EXPECT_EQ(said.find("\"job\":\"1\",\"log\":\"[rank0]"), 0U) << said;
}

TEST_F(JobLogsTest, AProgramInALoopIsHeldBackAndCounted) {
  write("slurm-1.out", "");
  JobLogs l = logs();
  l.ask();
  for (int i = 0; i < 1000; ++i) write("slurm-1.out", kTimeout);
  const std::string said = l.ask();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 4);
  EXPECT_NE(said.find("!997 lines of job logs repeat"), std::string::npos) << said;
}

TEST_F(JobLogsTest, WhatIsNoFileIsLeftAloneAndALineWithoutEndEndsNothing) {
  ASSERT_EQ(mkfifo((dir + "/slurm-2.out").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (dir + "/slurm-3.out").c_str()), 0);
  write("slurm-1.out", "");
  JobLogs l = logs();
  l.ask();
  write("slurm-1.out", std::string(3 << 20, 'x'));
  EXPECT_EQ(l.ask(), "");
  write("slurm-1.out", std::string("\n") + kTimeout);
  EXPECT_NE(l.ask().find("Watchdog"), std::string::npos);
}

RasReport mismatch(int rank, int launched, int most) {
  RasReport r;
  r.recognised = true;
  r.gpus = 4;
  r.groups.push_back({0, 1, 4, 4, "RUNNING", "MISMATCH"});
  RasProblem p;
  p.what = "MISMATCH";
  p.comm = "3194d8a762f110e0";
  p.group = 0;
  p.op = "AllReduce";
  p.counts = {{3, most}, {1, launched}};
  p.members = {{rank, 600, "10.0.0.1", "0", launched}};
  r.problems.push_back(p);
  return r;
}

TEST(RasWatch, ARankThatStaysBehindIsToldOnceAndOneThatGoesOnIsNot) {
  RasWatch w("", "/nowhere");
  EXPECT_EQ(w.judge(mismatch(2, 400, 401)), "");
  EXPECT_EQ(w.judge(mismatch(2, 500, 501)), "") << "it went on";
  EXPECT_EQ(w.judge(mismatch(2, 500, 501)),
            "\"job\":\"\",\"ras\":{\"kind\":\"rank_behind\",\"rank\":2,\"text\":\"NCCL RAS: rank 2 of communicator "
            "3194d8a762f110e0 (GPU 0, process 600 on 10.0.0.1) has launched 500 AllReduce operations, the others 501\"}\n");
  EXPECT_EQ(w.judge(mismatch(2, 500, 501)), "") << "once";
  EXPECT_EQ(w.judge(mismatch(2, 502, 501)), "") << "who is ahead is not behind";
}

TEST(RasWatch, AProcessThatCannotBeHeardIsNamedAsTheReportNamesIt) {
  RasReport r;
  r.recognised = true;
  RasProblem p;
  p.what = "INCOMPLETE";
  p.members = {{-1, 3487984, "10.0.0.7", "5", -1}};
  r.problems.push_back(p);
  RasWatch w("", "/nowhere");
  w.judge(r);
  EXPECT_NE(w.judge(r).find("nothing is heard of a process (GPU 5, process 3487984 on 10.0.0.7)"), std::string::npos);
}

TEST(RasWatch, ARankOfASmallerGroupIsNoRankOfTheJob) {
  RasReport r = mismatch(2, 400, 401);
  r.gpus = 64;
  RasWatch w("", "/nowhere");
  w.judge(r);
  EXPECT_NE(w.judge(r).find("\"rank\":-1"), std::string::npos);
}

TEST(RasWatch, NamesTheOneSlurmJobOfTheNode) {
  char name[] = "/tmp/ras_watch.XXXXXX";
  const std::string root = mkdtemp(name);
  const auto process = [&](const std::string& pid, const std::string& cgroup) {
    std::filesystem::create_directories(root + "/proc/" + pid);
    std::ofstream(root + "/proc/" + pid + "/cgroup") << cgroup << "\n";
  };
  process("1", "0::/init.scope");
  EXPECT_EQ(only_job_here(root), "");
  process("7", "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0");
  process("8", "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_1");
  EXPECT_EQ(only_job_here(root), "4711");
  process("9", "4:devices:/slurm/uid_1000/job_4712/step_0");
  EXPECT_EQ(only_job_here(root), "") << "which of the two is asked is not known";
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace muster::agent
