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
  EXPECT_EQ(say_rank(w.t.s, j, 13), "rank 13 (n1, GPU 5)");
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
  EXPECT_FALSE(find_ladder(w.t.s.policy, f->kind)->act) << "a job's word alone starts nothing";
}

TEST_F(JobLogs, AJobCannotAccuseAnothersNode) {
  line(JobLogKind::not_repeatable, 99, -1, NodeId{5}, 2);
  look();
  look(seconds(31));
  EXPECT_EQ(w.open(FindingKind::sdc_suspected), nullptr);
}

}  // namespace
}  // namespace muster::detect
