#include "detect/jobs.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

TEST(JobSigns, AFailedGangIsNotedWithoutBlamingANode) {
  Watch w;
  const JobId j = w.t.running({kN0, kN1});
  w.event(JobEnded{j, 1, JobEnd::app_failed, {}, "exit code 1"});
  w.look();
  const Finding* f = w.open(FindingKind::job_failed);
  ASSERT_NE(f, nullptr);
  EXPECT_FALSE(f->node.some());
  EXPECT_EQ(f->job, j);
  w.event(JobStarted{j, 2, {kN0, kN1}});
  w.look();
  EXPECT_EQ(w.open(FindingKind::job_failed), nullptr) << "it runs again";
}

TEST(JobSigns, EndingAsAskedIsNoFailure) {
  for (const JobEnd end : {JobEnd::completed, JobEnd::cancelled, JobEnd::requeued, JobEnd::timed_out}) {
    Watch w;
    w.event(JobEnded{w.t.running({kN0}), 1, end, {}, {}});
    EXPECT_TRUE(w.look().empty()) << name_of(end);
  }
}

class Storage : public ::testing::Test {
 protected:
  Storage() : w(4) {
    for (std::uint32_t n = 0; n < 3; ++n) {
      jobs.push_back(w.t.running({NodeId{n}}));
      spent.push_back(0);
    }
  }
  // Job k writes a checkpoint that takes this long.
  void checkpoint(std::size_t k, std::int64_t ms) {
    spent[k] += ms;
    w.event(JobProgressed{jobs[k], 1, {1, 1, 0, spent[k], 0}});
    w.everybody_reports();
    w.look(minutes(2));
  }
  void usual() {
    for (int i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < jobs.size(); ++k) checkpoint(k, 10'000);
    }
  }
  Watch w;
  std::vector<JobId> jobs;
  std::vector<std::int64_t> spent;
};

TEST_F(Storage, OneJobWithASlowCheckpointMayHaveItselfToBlame) {
  usual();
  for (int i = 0; i < 5; ++i) checkpoint(0, 100'000);
  EXPECT_EQ(w.findings(), 0U);
}

TEST_F(Storage, TwoJobsWhoseCheckpointsCrawlAreTheStoresFaultAndNoNodes) {
  usual();
  checkpoint(0, 100'000);
  checkpoint(1, 100'000);
  const Finding* f = w.open(FindingKind::storage_stall);
  ASSERT_NE(f, nullptr);
  EXPECT_FALSE(f->node.some());
  EXPECT_EQ(w.findings(), 1U);
}

TEST_F(Storage, WhatNoHealthyStoreWouldTakeIsAStallAlsoAtTheFirstCheckpoints) {
  w.t.s.site.storage_write_gbs = 30;  // three jobs of 100 GB: 10 s if all write at once, and 100 s for each one's node
  checkpoint(0, 300'000);
  checkpoint(1, 300'000);
  EXPECT_EQ(w.open(FindingKind::storage_stall), nullptr) << "slow, but a busy store might be";
  checkpoint(0, 700'000);
  checkpoint(1, 700'000);
  EXPECT_NE(w.open(FindingKind::storage_stall), nullptr);
}

TEST_F(Storage, AStallIsOverWhenCheckpointsTakeTheirUsualTimeAgain) {
  usual();
  checkpoint(0, 100'000);
  checkpoint(1, 100'000);
  for (int i = 0; i < 10; ++i) {
    for (std::size_t k = 0; k < jobs.size(); ++k) checkpoint(k, 10'000);
  }
  EXPECT_EQ(w.open(FindingKind::storage_stall), nullptr);
}

TEST_F(Storage, AStallEndsAlsoForAControllerThatWasRestartedMeanwhile) {
  usual();
  checkpoint(0, 100'000);
  checkpoint(1, 100'000);
  w.restart();
  for (int i = 0; i < 10; ++i) {
    for (std::size_t k = 0; k < jobs.size(); ++k) checkpoint(k, 10'000);
  }
  EXPECT_EQ(w.open(FindingKind::storage_stall), nullptr);
}

}  // namespace
}  // namespace muster::detect
