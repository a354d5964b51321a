#include "detect/slow.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

class SlowGpu : public ::testing::Test {
 protected:
  SlowGpu() : w(4), job(w.t.running({kN0, kN1})) {}

  // Every GPU of the gang at `usual`, one of them at `odd`.
  void activity(double usual, double odd, NodeId who = kN1, std::int16_t slot = 5) {
    for (const NodeId n : {kN0, kN1}) {
      for (std::int16_t s = 0; s < 8; ++s) w.sample(n, s, Field::tensor_active, n == who && s == slot ? odd : usual);
    }
  }
  void report(double step_s, int times) {
    for (int i = 0; i < times; ++i) {
      w.step(job, step_s);
      w.everybody_reports();
      w.look(minutes(1));
    }
  }
  Watch w;
  JobId job;
};

TEST_F(SlowGpu, TheOneThatStandsOutInASlowGangIsSuspected) {
  activity(0.3, 0.45);
  report(13, 3);  // the job says 10 s a step
  const Finding* f = w.open(FindingKind::slow_gpu);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->node, kN1);
  EXPECT_EQ(f->slot, 5);
  EXPECT_EQ(f->job, job);
  EXPECT_NE(f->severity, Severity::critical) << "a suspicion";
  EXPECT_EQ(w.findings(), 1U);
}

TEST_F(SlowGpu, TheOneThatComesToCollectivesLastIsSuspected) {
  const auto collectives = [&](double usual, double odd) {
    for (const NodeId n : {kN0, kN1}) {
      for (std::int16_t s = 0; s < 8; ++s) w.sample(n, s, Field::collective_us, n == kN1 && s == 5 ? odd : usual + s);
    }
  };
  activity(0.3, 0.31);
  collectives(3'900, 850);
  report(13, 3);
  const Finding* f = w.open(FindingKind::slow_gpu);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->node, kN1);
  EXPECT_EQ(f->slot, 5);
  EXPECT_NE(f->evidence[0].text.find("is in its collectives for 850 us where its peers are for 3903"), std::string::npos)
      << f->evidence[0].text;
}

TEST_F(SlowGpu, WhereHalfComeLastThereIsNoLine) {
  for (const NodeId n : {kN0, kN1}) {
    for (std::int16_t s = 0; s < 8; ++s) w.sample(n, s, Field::collective_us, s < 3 ? 100 : 4'000);
  }
  report(13, 10);
  EXPECT_EQ(w.findings(), 0U);
}

TEST_F(SlowGpu, NobodyIsSuspectedWithoutAnOutlier) {
  activity(0.3, 0.33);
  report(13, 20);
  EXPECT_EQ(w.findings(), 0U);
}

TEST_F(SlowGpu, NobodyIsSuspectedInAGangThatRunsAsItShould) {
  activity(0.3, 0.9);
  report(11.4, 20);  // 15 % is allowed
  EXPECT_EQ(w.findings(), 0U);
}

TEST_F(SlowGpu, OneSlowReportIsNotEnough) {
  activity(0.3, 0.45);
  for (int i = 0; i < 5; ++i) {
    report(13, 2);
    report(10, 1);
  }
  EXPECT_EQ(w.findings(), 0U);
}

TEST_F(SlowGpu, AGangIsHeldToTheBestItHasShown) {
  activity(0.3, 0.45);
  report(5, 1);
  report(9, 3);  // faster than the job's own word of 10 s, but not than it can
  EXPECT_NE(w.open(FindingKind::slow_gpu), nullptr);
}

TEST_F(SlowGpu, AKnownFaultInTheGangExplainsItAll) {
  w.t.open(w.t.find(FindingKind::thermal_throttle, kN0, 1));
  activity(0.3, 0.45);
  report(13, 10);
  EXPECT_EQ(w.open(FindingKind::slow_gpu), nullptr);
}

TEST_F(SlowGpu, NothingIsSaidWithoutMeasurementsOrForAStrangerJob) {
  report(13, 10);
  w.steps.push_back({w.t.now().utc, JobId{77, 0}, 1, 1, 99});
  w.look();
  EXPECT_EQ(w.findings(), 0U);
}

TEST_F(SlowGpu, ItIsDatedFromWhenTheGangSlowedDownAndSaysWhatThatCosts) {
  activity(0.3, 0.45);
  report(10, 5);
  const Time before = w.t.now().utc;
  report(13, 3);
  const Finding* f = w.open(FindingKind::slow_gpu);
  ASSERT_NE(f, nullptr);
  EXPECT_GE(f->since, before - minutes(2));
  EXPECT_LT(f->since, f->opened - seconds(1));
  EXPECT_EQ(f->loss_pct, 23U);  // 3 of 13 seconds
}

}  // namespace
}  // namespace muster::detect
