#include "detect/collectives.h"

#include <gtest/gtest.h>

#include "detect/ranks.h"
#include "detect/watch.h"

namespace muster::detect {
namespace {

constexpr JobId kJob{1, 0};

class JobLogs : public ::testing::Test {
 protected:
  JobLogs() {
    JobSpec spec;
    spec.nodes = 2;
    w.t.tell(JobSubmitted{kJob, spec});
    w.t.tell(JobStarted{kJob, 1, {NodeId{0}, NodeId{1}}, {}});
  }
  void line(JobLogKind kind, int rank, std::int64_t seq = -1, NodeId node = {}, std::int16_t gpu = -1) {
    JobLogRecord r;
    r.at = w.t.now().utc;
    r.job = kJob;
    r.kind = kind;
    r.rank = rank;
    r.seq = seq;
    r.node = node;
    r.gpu = gpu;
    r.text = "as it says";
    logs.push_back(r);
  }
  void look(Duration later = seconds(1)) {
    const State& s = w.t.s;
    const auto said = w.detectors.look({}, {}, {}, {}, s, w.t.now().utc + later, s.mono() + later, logs);
    w.t.pass(later);
    for (const Body& b : said) w.t.tell(b);
    logs.clear();
  }
  std::string newest(FindingKind k) const {
    const Finding* f = w.open(k);
    return f == nullptr ? "" : f->evidence.back().text;
  }
  Watch w{8};
  std::vector<JobLogRecord> logs;
};

TEST_F(JobLogs, ARankIsTheGpuItRunsOn) {
  const Job& j = w.t.s.jobs.at(kJob);
  EXPECT_EQ(ranks_of(w.t.s, j), 16U);
  EXPECT_EQ(say_rank(w.t.s, &j, 13), "rank 13 (n1, GPU 5)");
  EXPECT_FALSE(place_of_rank(w.t.s, j, 16));
  EXPECT_FALSE(place_of_rank(w.t.s, j, -1));
}

TEST_F(JobLogs, WhoCameLessFarIsNamed) {
  for (int r = 0; r < 16; ++r) line(JobLogKind::standing, r, r == 13 ? 4710 : 4711);
  line(JobLogKind::timed_out, 0, 4711);
  look();
  look(seconds(31));
  EXPECT_NE(newest(FindingKind::nccl_hang).find("rank 13 (n1, GPU 5) did not come"), std::string::npos)
      << newest(FindingKind::nccl_hang);
}

TEST_F(JobLogs, WhoDidNotWaitWhenAllOthersDidIsNamed) {
  for (int r = 0; r < 16; ++r) {
    if (r != 6) line(JobLogKind::timed_out, r, 4711);
  }
  look();
  look(seconds(31));
  EXPECT_NE(newest(FindingKind::nccl_hang).find("rank 6 (n0, GPU 6) did not come"), std::string::npos);
}

TEST_F(JobLogs, WhereHalfOfThemSayNothingNobodyIsNamed) {
  for (int r = 0; r < 5; ++r) line(JobLogKind::timed_out, r, 4711);
  look();
  look(seconds(31));
  EXPECT_EQ(newest(FindingKind::nccl_hang).find("did not come"), std::string::npos);
}

TEST_F(JobLogs, ARankThatIsDeadIsNamedAtOnce) {
  line(JobLogKind::rank_dead, 9);
  look();
  EXPECT_NE(newest(FindingKind::nccl_hang).find("rank 9 (n1, GPU 1) does not answer"), std::string::npos);
}

TEST_F(JobLogs, AResultThatDoesNotRepeatMakesItsGpuSuspect) {
  line(JobLogKind::not_repeatable, 13);
  look();
  look(seconds(31));
  const Finding* f = w.open(FindingKind::sdc_suspected);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->node, NodeId{1});
  EXPECT_EQ(f->slot, 5);
  EXPECT_LE(confidence(*f), 0.5);
  EXPECT_FALSE(find_runbook(w.t.s.policy, f->kind)->act) << "a job's word alone starts nothing";
}

TEST_F(JobLogs, AJobCannotAccuseAnothersNode) {
  line(JobLogKind::not_repeatable, 99, -1, NodeId{5}, 2);
  look();
  look(seconds(31));
  EXPECT_EQ(w.open(FindingKind::sdc_suspected), nullptr);
}

TEST_F(JobLogs, ALogOfNoJobCountsForNothing) {
  line(JobLogKind::timed_out, 0, 4711);
  logs.back().job = JobId{999};
  logs.back().label = "job 999";
  look();
  EXPECT_EQ(w.open(FindingKind::nccl_hang), nullptr);
}

// Without an engine a job is what its log is called.
class StrangersLogs : public ::testing::Test {
 protected:
  void line(std::string label, JobLogKind kind, int rank, std::int64_t seq, NodeId node = {}, std::int16_t gpu = -1) {
    logs.push_back({w.t.now().utc, {}, node, -1, kind, rank, "as it says", gpu, seq, std::move(label)});
  }
  void look(Duration later) {
    const State& s = w.t.s;
    const auto said = w.detectors.look({}, {}, {}, {}, s, w.t.now().utc + later, s.mono() + later, logs);
    w.t.pass(later);
    for (const Body& b : said) w.t.tell(b);
    logs.clear();
  }
  Watch w{8};
  std::vector<JobLogRecord> logs;
};

TEST_F(StrangersLogs, AreFindingsOfTheirOwnWithTheRankThatDidNotCome) {
  for (const int r : {0, 1, 3}) line("job 77", JobLogKind::timed_out, r, 401);
  for (const int r : {0, 1, 2}) line("job 78", JobLogKind::standing, r, r == 1 ? 7 : 8);
  line("job 78", JobLogKind::timed_out, 0, 8);
  look(seconds(1));
  look(seconds(31));
  std::map<std::string, std::string> newest;
  for (const auto& [id, f] : w.t.s.findings) {
    EXPECT_EQ(f.kind, FindingKind::nccl_hang);
    EXPECT_EQ(f.job, JobId{}) << "the number stays in the room";
    newest[f.subject] = f.evidence.back().text;
  }
  ASSERT_EQ(newest.size(), 2U);
  EXPECT_EQ(newest["job 77"], "rank 2 did not come to the collective that the others waited in");
  EXPECT_EQ(newest["job 78"], "rank 1 did not come to the collective that the others waited in");
}

TEST_F(StrangersLogs, ARankThatSaysHowFarItCameIsNotMissing) {
  for (const int r : {1, 2, 4, 5}) line("job 77", JobLogKind::timed_out, r, 401);
  for (const int r : {0, 1, 2, 4, 5}) line("job 77", JobLogKind::standing, r, 401);
  look(seconds(1));
  look(seconds(31));
  ASSERT_NE(w.open(FindingKind::nccl_hang), nullptr);
  EXPECT_EQ(w.open(FindingKind::nccl_hang)->evidence.front().text, "rank 1: as it says");
  EXPECT_EQ(w.open(FindingKind::nccl_hang)->evidence.back().text,
            "rank 3 did not come to the collective that the others waited in");
}

TEST_F(StrangersLogs, AResultThatDoesNotRepeatNamesItsGpuAndItsJob) {
  line("job 77", JobLogKind::not_repeatable, 4, -1, NodeId{3}, 4);
  look(seconds(1));
  look(seconds(31));
  const Finding* f = w.open(FindingKind::sdc_suspected);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->node, NodeId{3});
  EXPECT_EQ(f->slot, 4);
  EXPECT_EQ(f->evidence.back().text, "job 77: as it says");
}

TEST_F(StrangersLogs, EndlessNamesTakeBoundedRoom) {
  for (int i = 0; i < 10'000; ++i) line("job " + std::to_string(i), JobLogKind::standing, 0, 1);
  look(seconds(1));
  line("job x", JobLogKind::heartbeat_lost, 0, -1);
  look(seconds(1));
  ASSERT_NE(w.open(FindingKind::nccl_hang), nullptr);
  EXPECT_EQ(w.open(FindingKind::nccl_hang)->subject, "job x");
}

}  // namespace
}  // namespace muster::detect
