#include "trial/trace_replay.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "trial/trace_figures.h"

namespace muster::trial {
namespace {

TraceJob job(double submit_s, double run_s, std::uint32_t gpus) {
  return {Time{} + from_seconds(submit_s), from_seconds(run_s), gpus};
}

ReplaySpec spec(ReplayPolicy p, std::uint32_t gpus, double sigma = 0) {
  ReplaySpec s;
  s.policy = p;
  s.gpus = gpus;
  s.sigma = sigma;
  s.topology = p == ReplayPolicy::muster;
  return s;
}

std::vector<TraceJob> busy(std::uint64_t seed, std::size_t jobs) {
  Prng r(seed, "busy trace");
  std::vector<TraceJob> out;
  double t = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    t += r.exponential(90);
    const std::uint32_t gpus[] = {1, 1, 1, 1, 1, 1, 2, 4, 8, 16};
    out.push_back(job(t, std::min(r.lognormal(7.5, 2), 400000.0), gpus[r.below(10)]));
  }
  return out;
}

constexpr ReplayPolicy kAll[] = {ReplayPolicy::fifo, ReplayPolicy::easy, ReplayPolicy::sjf, ReplayPolicy::las,
                                 ReplayPolicy::muster};

TEST(TraceReplay, EasyStartsAShortJobBeforeABlockedOneAndDelaysItNot) {
  const std::vector<TraceJob> t = {job(0, 100, 6), job(1, 50, 8), job(2, 20, 2), job(3, 500, 2)};
  const Replay r = replay_jobs(t, spec(ReplayPolicy::easy, 8));
  EXPECT_EQ(r.jobs[1].wait_s(), 99);
  EXPECT_EQ(r.jobs[2].wait_s(), 0);
  EXPECT_EQ(r.jobs[3].wait_s(), 147);
  EXPECT_EQ(replay_jobs(t, spec(ReplayPolicy::fifo, 8)).jobs[2].wait_s(), 148);
}

TEST(TraceReplay, ShortestFirst) {
  const std::vector<TraceJob> t = {job(0, 100, 8), job(1, 50, 8), job(2, 20, 8)};
  const Replay r = replay_jobs(t, spec(ReplayPolicy::sjf, 8));
  EXPECT_EQ(r.jobs[2].wait_s(), 98);
  EXPECT_EQ(r.jobs[1].wait_s(), 119);
}

TEST(TraceReplay, LeastAttainedServiceLetsTheNewcomerIn) {
  const Replay r = replay_jobs(std::vector<TraceJob>{job(0, 10000, 8), job(5000, 100, 8)}, spec(ReplayPolicy::las, 8));
  EXPECT_EQ(r.jobs[1].wait_s(), 0);
  EXPECT_EQ(r.jobs[0].wait_s(), 100 + kRestart.seconds());
  EXPECT_EQ(r.pauses, 1U);
}

TEST(TraceReplay, ALongJobStepsAsideForAShortOneAndLosesLittle) {
  const Replay r =
      replay_jobs(std::vector<TraceJob>{job(0, 36000, 8), job(18030, 60, 1), job(18032, 60, 1)}, spec(ReplayPolicy::muster, 8));
  EXPECT_EQ(r.pauses, 1U);
  EXPECT_LT(r.jobs[1].wait_s(), 5);
  EXPECT_LT(r.jobs[0].wait_s(), 400);
}

TEST(TraceReplay, EveryJobEndsAndNoneBeforeItsTime) {
  const auto t = busy(1, 1500);
  for (const ReplayPolicy p : kAll) {
    const Replay r = replay_jobs(t, spec(p, 64, 1));
    ASSERT_EQ(r.jobs.size(), t.size());
    double useful = 0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      ASSERT_GE((r.jobs[i].ended - t[i].submitted).ns, t[i].run.ns - 1000);
      useful += t[i].run.seconds() * t[i].gpus;
    }
    EXPECT_NEAR(r.useful_gpu_s / useful, 1, 1e-9);
    EXPECT_LE(r.utilisation(64), 1);
    for (const ReplaySample& s : r.series) ASSERT_LE(s.used_gpus, 64.0001);
  }
}

TEST(TraceReplay, TheSameSeedGivesTheSameReplayAndAnotherDoesNot) {
  const auto t = busy(2, 800);
  ReplaySpec s = spec(ReplayPolicy::muster, 64, 1);
  s.failures_per_gpu_hour = 1e-3;
  const auto ends = [&] {
    std::vector<Time> out;
    for (const JobOutcome& j : replay_jobs(t, s).jobs) out.push_back(j.ended);
    return out;
  };
  const auto first = ends();
  EXPECT_EQ(first, ends());
  s.seed = 2;
  EXPECT_NE(first, ends());
}

TEST(TraceReplay, FailuresCostWorkAndJobsComeThrough) {
  const auto t = busy(3, 600);
  ReplaySpec s = spec(ReplayPolicy::muster, 64, 1);
  s.failures_per_gpu_hour = 1e-3;
  const Replay r = replay_jobs(t, s);
  EXPECT_GT(r.failures, 0U);
  EXPECT_GT(r.lost_gpu_s, 0);
  EXPECT_EQ(r.jobs.size(), t.size());
}

TEST(TraceReplay, JobsTooLargeForTheClusterAreLeftOutAndCounted) {
  const Replay r = replay_jobs(std::vector<TraceJob>{job(0, 10, 9), job(0, 10, 8)}, spec(ReplayPolicy::easy, 8));
  EXPECT_EQ(r.too_large, 1U);
  EXPECT_EQ(r.jobs.size(), 1U);
}

TEST(TraceReplay, CountsAndTreeAgreeWhereEverythingIsOneGpu) {
  auto t = busy(4, 600);
  for (TraceJob& j : t) j.gpus = 1;
  for (const ReplayPolicy p : {ReplayPolicy::easy, ReplayPolicy::fifo, ReplayPolicy::sjf}) {
    ReplaySpec s = spec(p, 16, 1);
    const auto counts = replay_jobs(t, s);
    s.topology = true;
    const auto tree = replay_jobs(t, s);
    for (std::size_t i = 0; i < t.size(); ++i) ASSERT_EQ(counts.jobs[i].ended, tree.jobs[i].ended) << i;
  }
}

TEST(TraceReplay, WithoutPausesNobodyStepsAside) {
  ReplaySpec s = spec(ReplayPolicy::muster, 8);
  s.pauses = false;
  const Replay r = replay_jobs(std::vector<TraceJob>{job(0, 36000, 8), job(18030, 60, 1)}, s);
  EXPECT_EQ(r.pauses, 0U);
  EXPECT_EQ(r.jobs[0].wait_s(), 0);
  EXPECT_GT(r.jobs[1].wait_s(), 17000);
}

// Two leaves of two nodes with four GPUs, and one node of another model on a third.
Site small_site() {
  Site s;
  s.name = "small";
  s.gpu_model = "H100";
  s.gpus_per_node = 4;
  s.leaves = 3;
  s.pods = 1;
  for (std::uint32_t n = 0; n < 5; ++n) s.nodes.push_back({"n" + std::to_string(n), n / 2, n / 2, 0, n, n == 4 ? "A100" : ""});
  return s;
}

ReplaySpec on_site(ReplayPolicy p) {
  ReplaySpec s = spec(p, 20);
  s.site = small_site();
  s.pauses = false;
  return s;
}

TEST(TraceReplay, AGivenClusterIsUsedWithItsNodesAndLeaves) {
  // Eight GPUs are two nodes of one leaf here, and one node of the plain cluster: they take a leaf, and then they are slower
  // over two.
  const std::vector<TraceJob> t = {job(0, 100, 4), job(1, 100, 4), job(2, 100, 8), job(3, 100, 12)};
  const Replay r = replay_jobs(t, on_site(ReplayPolicy::muster));
  EXPECT_EQ(r.jobs[2].wait_s(), 0);
  EXPECT_EQ(r.leaves_min, 1U + 1 + 1 + 2);
  EXPECT_GE(r.leaves, r.leaves_min);
}

TEST(TraceReplay, AModelIsWaitedForAndOneThatIsNotThereIsLeftOut) {
  auto t = std::vector<TraceJob>{job(0, 100, 4), job(1, 50, 2), job(2, 50, 5), job(3, 50, 1), job(4, 10, 8)};
  t[0].model = t[1].model = t[2].model = "A100";
  t[3].model = "B200";
  const Replay r = replay_jobs(t, on_site(ReplayPolicy::muster));
  EXPECT_EQ(r.too_large, 2U);  // five A100, any B200
  ASSERT_EQ(r.jobs.size(), 3U);
  EXPECT_EQ(r.jobs[1].wait_s(), 99);
  EXPECT_EQ(r.jobs[2].wait_s(), 0);
  EXPECT_EQ(replay_jobs(t, on_site(ReplayPolicy::easy)).jobs.size(), 3U);  // counts: the same jobs, no model
}

TEST(TraceReplay, PercentilesAreValuesThatOccur) {
  Replay r;
  for (int i = 1; i <= 200; ++i) r.jobs.push_back({0, 1, Time{}, seconds(10), Time{} + seconds(10 + i), 0, 0});
  const ReplayFigures f = figures_of(r);
  EXPECT_EQ(f.all.p50, 100);
  EXPECT_EQ(f.all.p99, 198);
  EXPECT_EQ(f.all.max, 200);
  EXPECT_EQ(f.by_size[0].jobs, 200U);
  EXPECT_EQ(f.by_size[1].jobs, 0U);
}

}  // namespace
}  // namespace muster::trial
