#include "model/step_log.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(StepLogTimes, ByARateOnlyStepsThatHaveOneAreTimed) {
  StepLog log;
  log.steps = {{.step = 10, .samples_per_s = 32}, {.step = 20, .time_s = 9}};
  EXPECT_FALSE(time_by_rate(log, 0));
  EXPECT_EQ(log.steps[1].time_s, 9);
  EXPECT_TRUE(time_by_rate(log, 128));
  EXPECT_EQ(log.steps[0].time_s, 4);
  EXPECT_EQ(log.steps[1].time_s, 0) << "times of two clocks are not mixed";
  EXPECT_EQ(log.clock, StepClock::rate);
}

TEST(StepLogTimes, LinesThatWereWrittenAtOneTimeTellNone) {
  StepLog log;
  log.steps = {{.step = 10, .at_s = 100}, {.step = 20, .at_s = 100}, {.step = 5, .at_s = 300}};
  EXPECT_FALSE(time_by_stamps(log));
  log.steps[1].at_s = 140;
  EXPECT_TRUE(time_by_stamps(log));
  EXPECT_EQ(log.steps[1].time_s, 4);
  EXPECT_EQ(log.steps[2].time_s, 0) << "it was started again in between";
}

}  // namespace
}  // namespace muster
