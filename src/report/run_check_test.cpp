#include "report/run_check.h"

#include <gtest/gtest.h>

#include "ingest/json.h"

namespace muster::report {
namespace {

diagnose::RunCheck slow_run() {
  diagnose::RunCheck c;
  c.framework = "Megatron-LM";
  c.gpus = 64;
  c.gpu = "h100";
  c.times.spread = {100, 2.0, 1.9, 2.2, 2.0};
  c.times.first = 1;
  c.times.last = 100;
  c.tflops = 400;
  c.mfu_pct = 40;
  c.expected = diagnose::ExpectedStep{1.0, 0.9, 1.2, {}, "measured"};
  c.pace = diagnose::Pace::slower;
  c.confidence = diagnose::Confidence::high;
  c.off_pct = 100;
  c.findings.push_back(
      {.title = "gradients are summed late", .remedy = "--overlap-grad-reduce", .gain = diagnose::Gain{5, 10}, .cost_pct = 10});
  c.cannot = {"something"};
  return c;
}

TEST(RunCheckReport, Words) {
  EXPECT_EQ(run_sentence(slow_run()),
            "a step takes 2.000 s: 100 % longer than the 1.000 s that are expected (900.0 ms to 1.200 s)");
  EXPECT_EQ(run_sentence({}), "the log does not tell how long a step took");
  std::string all;
  for (const std::string& l : say_run_check(slow_run())) all += l + "\n";
  EXPECT_NE(all.find("100 steps (1 to 100)"), std::string::npos) << all;
}

TEST(RunCheckReport, TheSentenceSaysSinceWhenItIsSlower) {
  diagnose::RunCheck c = slow_run();
  c.pace = diagnose::Pace::faster;
  c.times.spread.median_s = 0.8;
  c.times.shift = diagnose::Shift{60, 91, 0.75, 1.05};
  EXPECT_EQ(
      run_sentence(c),
      "a step takes 800.0 ms: faster than the 1.000 s that are expected (900.0 ms to 1.200 s), and 40 % slower since step 60");
  c.times.shift = diagnose::Shift{60, 91, 1.0, 0.75};
  EXPECT_NE(run_sentence(c).find("and 25 % faster since step 60"), std::string::npos) << run_sentence(c);
}

TEST(RunCheckReport, WhoseRunsItIsComparedWithIsSaid) {
  diagnose::RunCheck c = slow_run();
  c.framework = "torchtitan";
  c.expected->others = "megatron-core";
  EXPECT_EQ(run_sentence(c),
            "a step takes 2.000 s: 100 % longer than the 1.000 s that are expected (900.0 ms to 1.200 s); compared with runs of "
            "megatron-core, not of torchtitan");
  c.times.shift = diagnose::Shift{60, 91, 1.5, 2.1};
  EXPECT_NE(run_sentence(c).find("40 % slower since step 60; compared with"), std::string::npos) << run_sentence(c);
}

TEST(RunCheckReport, WhereNothingCanBePredictedOnlyTimesAreSaid) {
  diagnose::RunCheck c = slow_run();
  c.expected.reset();
  c.pace = diagnose::Pace::unknown;
  EXPECT_EQ(run_sentence(c), "a step takes 2.000 s; how long it should take, and what it is bound by, cannot be told");
}

TEST(RunCheckReport, WhatTimesOfStepsAreFromIsSaid) {
  diagnose::RunCheck c = slow_run();
  const auto all = [&] {
    std::string out;
    for (const std::string& l : say_run_check(c)) out += l + "\n";
    return out;
  };
  EXPECT_EQ(all().find("times of steps"), std::string::npos);
  c.clock = StepClock::rate;
  c.samples_per_s = 64;
  c.clock_batch = 128;
  EXPECT_NE(all().find("times of steps: by 64.0 samples a second and 128 a step"), std::string::npos) << all();
  c.clock = StepClock::stamps;
  EXPECT_NE(all().find("times of steps: by the time between lines"), std::string::npos) << all();
}

TEST(RunCheckReport, NoNumberIsLongerThanALine) {
  diagnose::RunCheck c = slow_run();
  c.times.spread = {100, 1e300, 1e300, 1e300, 1e300};
  c.tokens_per_s = c.tflops = c.mfu_pct = c.reported_tflops = 1e300;
  c.phases = {{"forward", 1e300, 1e300, 1, true}};
  EXPECT_LT(run_sentence(c).size(), 200U);
  for (const std::string& l : say_run_check(c)) EXPECT_LT(l.size(), 200U) << l;
}

TEST(RunCheckReport, Json) {
  JsonWriter w;
  write_run(w, slow_run());
  const auto run = parse_json(w.take());
  ASSERT_TRUE(run) << run.error().what;
  double n = 0;
  EXPECT_TRUE(run->find("step_s")->find("median")->number(n));
  EXPECT_EQ(n, 2);
  EXPECT_EQ(*run->find("pace")->string(), "slower");
  write_run(w, {});
  EXPECT_TRUE(parse_json(w.take()));
}

}  // namespace
}  // namespace muster::report
