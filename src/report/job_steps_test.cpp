#include "report/job_steps.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "report/units.h"

namespace muster::report {
namespace {

const Time kStart{1'767'225'600'000'000'000};

// An attempt that started at `from`, took a minute to begin, and told of every hundredth step.
std::vector<JobPoint> course(const std::vector<double>& step_s, std::uint32_t attempt = 1, Time from = kStart) {
  std::vector<JobPoint> out{{from, attempt, true, {}}};
  Progress p;
  p.init_ms = 60'000;
  Time at = from + minutes(1);
  for (const double s : step_s) {
    p.steps += 100;
    p.checkpoint_ms += 5000;
    at = at + from_seconds(100 * s + 5);
    out.push_back({at, attempt, false, p});
  }
  return out;
}

TEST(JobSteps, AreMeasuredWithoutStartAndCheckpoints) {
  const StepCourse c = study_course(course({10, 10, 12, 10}));
  ASSERT_EQ(c.stretches.size(), 4u);
  EXPECT_NEAR(c.stretches[0].step_s, 10, 1e-6);
  EXPECT_NEAR(c.stretches[2].step_s, 12, 1e-6);
  EXPECT_NEAR(c.median_s, 10, 1e-6);
  EXPECT_NEAR(c.p95_s, 12, 1e-6);
  EXPECT_EQ(c.steps, 400u);
  EXPECT_NEAR(c.pace_s, 10.5 + 0.05, 1e-6) << "with the checkpoints";
  EXPECT_FALSE(c.change);
}

TEST(JobSteps, AChangeOfLevelIsDated) {
  const StepCourse c = study_course(course({10, 10.01, 9.99, 10, 10.02, 11.2, 11.21, 11.19, 11.2, 11.2}));
  ASSERT_TRUE(c.change);
  EXPECT_NEAR(c.change->before_s, 10, 0.02);
  EXPECT_NEAR(c.change->after_s, 11.2, 0.02);
  EXPECT_EQ(c.change->at, c.stretches[5].from);
  EXPECT_FALSE(study_course(course({10, 10.01, 9.99, 10, 14, 10, 10.01, 9.99, 10, 10})).change) << "one odd stretch is none";
}

TEST(JobSteps, AStartThatNobodyTimedCountsForNothing) {
  auto points = course({10, 10, 10});
  for (JobPoint& p : points) p.progress.init_ms = 0;
  const StepCourse c = study_course(points);
  EXPECT_TRUE(c.stretches[0].with_start);
  EXPECT_GT(c.stretches[0].step_s, 10.5);
  EXPECT_NEAR(c.p95_s, 10, 1e-6);
  EXPECT_EQ(c.steps, 200u);
}

TEST(JobSteps, AttemptsAreKeptApartAndTheListIsBounded) {
  auto points = course(std::vector<double>(2000, 10));
  const auto again = course({12, 12}, 2, points.back().at + hours(1));
  points.insert(points.end(), again.begin(), again.end());
  const StepCourse c = study_course(points);
  EXPECT_LE(c.stretches.size(), kStretchesMax);
  EXPECT_EQ(c.stretches.back().attempt, 2u);
  EXPECT_NEAR(c.stretches.back().step_s, 12, 1e-6);
  EXPECT_NEAR(c.stretches.front().step_s, 10, 1e-6);
}

TEST(JobSteps, WhatIsLeftIsToldOfAJobThatRuns) {
  const auto points = course({10, 10});
  StepsWanted wanted{"17", 10, 1000, 200, 16, true};
  Value v = parse_json(job_steps_json(study_course(points), wanted, kStart, points.back().at)).value();
  EXPECT_NEAR(*number_of(v, "left_s"), 800 * 10.05, 1e-6);
  EXPECT_NEAR(*number_of(v, "left_gpu_h"), 800 * 10.05 * 16 / 3600, 1e-6);
  EXPECT_EQ(list_of(v, "points").size(), 2u);
  EXPECT_NE(say_job_steps(v).find("steps take 10 s (median)"), std::string::npos);
  wanted.running = false;
  v = parse_json(job_steps_json(study_course({}), wanted, kStart, kStart)).value();
  EXPECT_TRUE(v.find("left_s")->is_null() && v.find("median_s")->is_null());
  EXPECT_EQ(say_job_steps(v), "");
}

}  // namespace
}  // namespace muster::report
