#include "trial/llama3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ingest/cluster_file.h"
#include "ingest/embedded.h"
#include "trial/controlled.h"

namespace muster::trial {
namespace {

std::vector<PublishedCause> published() {
  auto c = parse_published(*embedded_file("llama3_interruptions.csv"), "llama3_interruptions.csv");
  EXPECT_TRUE(c) << (c ? "" : c.error().what);
  return c ? *c : std::vector<PublishedCause>{};
}

TEST(Llama3, ThePublishedInterruptionsAreAllThere) {
  std::uint32_t total = 0;
  std::map<twin::FaultKind, std::uint32_t> by_kind;
  for (const PublishedCause& c : published()) {
    total += c.count;
    by_kind[c.kind] += c.count;
  }
  EXPECT_EQ(total, 419U);
  EXPECT_EQ(by_kind[twin::FaultKind::gpu_off_bus], 148U + 6U);
  EXPECT_EQ(by_kind[twin::FaultKind::app_bug], 54U + 2U);
}

TEST(Llama3, ATableThatIsWrongIsRefusedWithItsLine) {
  const auto error = [](std::string_view csv) {
    const auto r = parse_published(csv, "t.csv");
    return r ? std::string() : r.error().what;
  };
  EXPECT_EQ(error("a,b\n"), "t.csv:1: the columns must be component,count,kind,note");
  EXPECT_EQ(error("component,count,kind,note\nx,0,app_bug,\n"), "t.csv:2: count must be a whole number from 1 to 1000000");
  EXPECT_EQ(error("component,count,kind,note\nx,1,rust,\n"), "t.csv:2: no such kind of fault: rust");
}

TEST(Llama3, AnIntervalIsStudents) {
  EXPECT_EQ(mean_of({5}).half_width, 0);
  const Mean two = mean_of({1, 3});
  EXPECT_EQ(two.mean, 2);
  EXPECT_NEAR(two.half_width, 12.706, 0.01);
  std::vector<double> thirty;
  for (int i = 0; i < 30; ++i) thirty.push_back(i % 2 == 0 ? 1 : -1);
  EXPECT_NEAR(mean_of(thirty).half_width, 2.0452 * 1.01709 / std::sqrt(30.0), 1e-3);
}

// 128 GPUs that fail as often as 16,384 do.
Llama3Options small(std::uint64_t seeds) {
  Llama3Options o;
  o.site = *plain_cluster(128);
  o.site.storage_write_gbs = 2000;
  o.causes = published();
  for (PublishedCause& c : o.causes) {
    if (c.kind != twin::FaultKind::app_bug) c.count *= 128;
  }
  o.policy = default_policy();
  // A small cluster: what is broken at one time is a large part of it.
  o.policy.limits.out_cluster_pct = 60;
  o.policy.limits.out_rack_pct = 100;
  o.policy.limits.harm_per_hour_pct = 1000;
  o.policy.limits.cause_pct = 60;
  o.setting.checkpoint_gb = 100;
  o.days = 10;
  o.seeds = seeds;
  o.make_journal = [] { return std::make_unique<KeptJournal>(); };
  return o;
}

TEST(Llama3, EverySecondIsAccountedForAndTheOptimumIsNear) {
  const auto r = bench_llama3(small(3));
  ASSERT_TRUE(r) << r.error().what;
  double sum = r->useful_pct + r->stall_pct + r->lost_pct + r->first_start_pct;
  for (const double p : r->part_pct) {
    EXPECT_GE(p, 0);
    sum += p;
  }
  EXPECT_NEAR(sum, 100, 1e-6);
  double parts = 0;
  for (const double p : r->part_mean_s) parts += p;
  EXPECT_NEAR(parts, r->recover_mean_s, 1e-6);
  EXPECT_NEAR(r->effective_pct.mean, r->useful_pct, 1e-9);
  EXPECT_NEAR(r->interruptions.mean, r->expected, 0.25 * r->expected);
  EXPECT_LT(r->optimum_pct - r->effective_pct.mean, 0.6);
  EXPECT_GT(r->optimum_pct - r->effective_pct.mean, -0.6) << "better than the best possible: time is lost somewhere";
  EXPECT_LT(r->recover_p50_s, 180);
  EXPECT_EQ(r->jobs_lost, 0U) << "a job that gets on is not given up, however often it fails";
  EXPECT_TRUE(r->violations.empty()) << r->violations.front();
  std::uint64_t causes = 0;
  for (const CauseShare& c : r->causes) causes += c.count;
  EXPECT_NEAR(static_cast<double>(causes) / 3, r->interruptions.mean, 1e-9);
}

TEST(Llama3, LongerDurationsCostWhatTheySay) {
  Llama3Options o = small(2);
  o.days = 6;
  const auto quick = bench_llama3(o);
  o.setting.restart_s = 600;
  const auto slow = bench_llama3(o);
  ASSERT_TRUE(quick && slow);
  EXPECT_NEAR(slow->recover_p50_s - quick->recover_p50_s, 480, 20);
  EXPECT_LT(slow->effective_pct.mean, quick->effective_pct.mean - 2);
  EXPECT_LT(slow->optimum_pct, quick->optimum_pct - 2);
  o.setting.restart_s = 120;
  o.setting.crew = {600, 1, 5};
  const auto crew = bench_llama3(o);
  ASSERT_TRUE(crew);
  EXPECT_GT(crew->recover_p50_s, quick->recover_p50_s + 580) << "the controller waits while people look, from the failure on";
  EXPECT_GT(crew->recover_max_s, 5 * 3600) << "and once for hours";
}

TEST(Llama3, TheSameSeedGivesTheSameRun) {
  Llama3Options o = small(2);
  o.days = 3;
  const auto a = bench_llama3(o);
  o.threads = 2;
  const auto b = bench_llama3(o);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->effective_pct.mean, b->effective_pct.mean);
  EXPECT_EQ(a->recover_mean_s, b->recover_mean_s);
}

}  // namespace
}  // namespace muster::trial
