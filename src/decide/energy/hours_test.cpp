// When a job that can wait should run.
#include "decide/energy/hours.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::decide {
namespace {

PriceSeries days_of(std::size_t n) {
  PriceSeries s;
  for (std::size_t h = 0; h < n * 24; ++h) {
    const std::size_t of_day = h % 24;
    s.actual.push_back(of_day < 6 ? 20.0 : of_day < 18 ? 50.0 : 40.0);
  }
  s.forecast = s.actual;
  return s;
}

TEST(Hours, OfGoodForecastsTheCheapestHoursAreChosen) {
  const PriceSeries s = days_of(4);
  const Choices c = choose_hours(s, {.now = 32, .hours = 6, .within = 24, .pausable = false, .known = {}});  // 08:00
  EXPECT_DOUBLE_EQ(c.at_once.mean, 50);
  EXPECT_DOUBLE_EQ(c.foresight.mean, 20);
  EXPECT_EQ(c.foresight.hours.front(), 16u);  // midnight
  EXPECT_LT(c.forecast.mean, 30);
}

TEST(Hours, OfEqualHoursTheEarliest) {
  PriceSeries s;
  s.actual.assign(72, 30.1);
  s.forecast = s.actual;
  const Choices c = choose_hours(s, {.now = 24, .hours = 5, .within = 20, .pausable = false, .known = {}});
  EXPECT_EQ(c.foresight.hours.front(), 0u);
  EXPECT_EQ(c.forecast.hours.front(), 0u);
}

TEST(Hours, AReplayLosesNothingWhereTheForecastsAreTrue) {
  const WaitReplay r = replay_waits(
      days_of(20), {.now = 0, .hours = 3, .within = 24, .pausable = false, .known = {.publish_hour = 0, .market = true}}, 1);
  EXPECT_EQ(r.times, 20u * 24 - 23);
  EXPECT_NEAR(r.forecast, r.foresight, 1e-9);
  EXPECT_LT(r.forecast, r.at_once);
  EXPECT_EQ(r.worse, 0u);
}

// Who knows the future is never beaten, and who may pause never has it worse.
RC_GTEST_PROP(Hours, ForesightIsTheBest, ()) {
  PriceSeries s;
  for (int i = 0; i < 96; ++i) {
    s.actual.push_back(*rc::gen::inRange(-50, 200));
    s.forecast.push_back(*rc::gen::inRange(-50, 200));
  }
  Wait w;
  w.now = *rc::gen::inRange<std::size_t>(0, 40);
  w.within = *rc::gen::inRange<std::uint32_t>(1, 48);
  w.hours = *rc::gen::inRange<std::uint32_t>(1, w.within + 1);
  const Choices one = choose_hours(s, w);
  w.pausable = true;
  const Choices many = choose_hours(s, w);
  RC_ASSERT(one.foresight.mean <= one.forecast.mean + 1e-9);
  RC_ASSERT(one.foresight.mean <= one.at_once.mean + 1e-9);
  RC_ASSERT(many.foresight.mean <= one.foresight.mean + 1e-9);
  for (const Choices* c : {&one, &many}) {
    for (const Choice* x : {&c->at_once, &c->forecast, &c->foresight}) {
      RC_ASSERT(x->hours.size() == w.hours);
      RC_ASSERT(x->hours.back() < w.within);
    }
  }
}

}  // namespace
}  // namespace muster::decide
