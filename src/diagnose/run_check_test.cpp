#include "diagnose/run_check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::diagnose {
namespace {

std::vector<GpuModel> gpus() {
  return {
      {.name = "h100",
       .bf16_tflops = 989.4,
       .fp8_tflops = 1978.9,
       .hbm_gb = 80,
       .hbm_tb_s = 3.35,
       .nvlink_gb_s = 450,
       .sms = 132,
       .nic_gb_s = 50},
      {.name = "h200",
       .bf16_tflops = 989.4,
       .fp8_tflops = 1978.9,
       .hbm_gb = 141,
       .hbm_tb_s = 4.8,
       .nvlink_gb_s = 450,
       .sms = 132,
       .nic_gb_s = 50},
      {.name = "b200", .bf16_tflops = 2250, .hbm_gb = 180, .hbm_tb_s = 7.7, .nvlink_gb_s = 900, .sms = 148, .nic_gb_s = 50},
      {.name = "gb200",
       .bf16_tflops = 2500,
       .hbm_gb = 186,
       .hbm_tb_s = 8,
       .nvlink_gb_s = 900,
       .domain = 72,
       .sms = 152,
       .nic_gb_s = 50},
      {.name = "mi300x", .bf16_tflops = 1307.4, .hbm_gb = 192, .hbm_tb_s = 5.3, .nvlink_gb_s = 448, .sms = 304, .nic_gb_s = 50}};
}

TEST(RunCheck, WhichGpuItWas) {
  const auto all = gpus();
  StepLog log;
  EXPECT_EQ(guess_gpu(log, all).gpu, nullptr);
  log.gpu_name = "NVIDIA GB200";
  EXPECT_EQ(guess_gpu(log, all).gpu->name, "gb200");
  log.gpu_name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(guess_gpu(log, all).gpu->name, "h100");
  log.gpu_name = "NVIDIA L40S";
  EXPECT_EQ(guess_gpu(log, all).gpu, nullptr);
  log.gpu_name.clear();
  log.amd = true;
  log.used_memory_gb = 94.6;
  EXPECT_EQ(guess_gpu(log, all).gpu->name, "mi300x");
  log.amd = false;
  EXPECT_EQ(guess_gpu(log, all).gpu, nullptr) << "several are that large";
  log.gpu_memory_gb = 150.1;
  EXPECT_EQ(guess_gpu(log, all).gpu->name, "h200");
}

struct Job {
  StepLog log;
  std::vector<GpuModel> known = gpus();
  Calibration calibration;
  Transformer model{.name = "m",
                    .layers = 32,
                    .hidden = 4096,
                    .heads = 32,
                    .kv_heads = 8,
                    .head_dim = 128,
                    .ffn = 14336,
                    .gated = true,
                    .vocab = 128256};
  TrainingPlan plan{.gpus = 64,
                    .tp = 2,
                    .dp = 32,
                    .micro_batch = 1,
                    .global_batch = 128,
                    .seq = 8192,
                    .shard = Shard::optimizer,
                    .sequence_parallel = true};

  Job() {
    calibration.software = "s";
    calibration.gpu = "h100";
    calibration.rows = 30;
    log.gpus = 64;
    log.framework = "Megatron-LM";
  }
  double predicted() const { return predict::step_time(known[0], calibration, {8, 50}, model, plan).all_s(); }
  void steps(double each_s) {
    for (std::uint64_t i = 1; i <= 50; ++i) log.steps.push_back({.step = i, .time_s = each_s, .tflops = 400});
  }
  RunCheck check() const {
    const std::vector<Calibration> calibrations{calibration};
    return check_run({.log = log,
                      .settings = {},
                      .model = model,
                      .plan = plan,
                      .no_plan = {},
                      .gpu = known.data(),
                      .gpu_from = "--cluster",
                      .network = {8, 50},
                      .gpus = known,
                      .calibrations = calibrations,
                      .software = {}});
  }
};

TEST(RunCheck, AsFastAsItShouldBe) {
  Job run;
  run.steps(run.predicted());
  const RunCheck c = run.check();
  EXPECT_EQ(c.pace, Pace::as_expected);
  ASSERT_TRUE(c.expected);
  EXPECT_NEAR(c.off_pct, 0, 0.1);
  EXPECT_EQ(c.confidence, Confidence::high);
  EXPECT_NEAR(c.tflops, run.model.flops_per_token(8192) * 128 * 8192 / run.predicted() / 64 / 1e12, 1e-6);
  EXPECT_NEAR(c.mfu_pct, 100 * c.tflops / 989.4, 1e-6);
  EXPECT_DOUBLE_EQ(c.reported_tflops, 400);
  EXPECT_TRUE(c.cannot.empty());
}

TEST(RunCheck, SlowerThanRunsLikeIt) {
  Job run;
  run.steps(2 * run.predicted());
  const RunCheck c = run.check();
  EXPECT_EQ(c.pace, Pace::slower);
  EXPECT_NEAR(c.off_pct, 100, 0.1);
  ASSERT_FALSE(c.findings.empty());
  EXPECT_NEAR(c.findings.front().gain->high_pct, 50, 0.1);
  EXPECT_LT(c.findings.front().gain->low_pct, c.findings.front().gain->high_pct);
}

TEST(RunCheck, RunsOfAnotherFrameworkAreNamedAndBelievedLess) {
  Job run;
  run.steps(2 * run.predicted());
  run.log.framework = "torchtitan";
  run.calibration.software = "megatron-core";
  const RunCheck c = run.check();
  EXPECT_EQ(c.pace, Pace::slower);
  EXPECT_EQ(c.confidence, Confidence::low);
  ASSERT_TRUE(c.expected);
  EXPECT_EQ(c.expected->others, "megatron-core");
  EXPECT_NE(c.expected->basis.find("none of torchtitan"), std::string::npos) << c.expected->basis;
  const auto f = std::find_if(c.findings.begin(), c.findings.end(),
                              [](const Finding& x) { return x.title.find("longer than megatron-core") != std::string::npos; });
  ASSERT_NE(f, c.findings.end());
  EXPECT_EQ(f->confidence, Confidence::low);
  EXPECT_EQ(f->gain->low_pct, 0) << "all of it may be the framework's own";
  run.log.framework = "NeMo";
  EXPECT_EQ(run.check().confidence, Confidence::high) << "it runs on the same code";
}

TEST(RunCheck, SamplesASecondAreTimesOnceTheConfigurationTellsTheBatch) {
  Job run;
  run.log.form = StepForm::deepspeed;
  run.log.framework = "DeepSpeed";
  for (std::uint64_t i = 1; i <= 50; ++i) run.log.steps.push_back({.step = 10 * i, .samples_per_s = 32});
  RunMaterial given{.log = run.log, .gpus = run.known};
  const RunCheck none = check_run(given);
  EXPECT_EQ(none.times.spread.samples, 0U);
  EXPECT_DOUBLE_EQ(none.samples_per_s, 32);
  EXPECT_NE(none.cannot.front().find("train_batch_size"), std::string::npos) << none.cannot.front();
  given.batch = 128;
  const RunCheck c = check_run(given);
  EXPECT_DOUBLE_EQ(c.times.spread.median_s, 4);
  EXPECT_EQ(c.clock, StepClock::rate);
  EXPECT_EQ(c.clock_batch, 128U);
  EXPECT_EQ(c.confidence, Confidence::low) << "times alone do not tell what bounds it";
}

TEST(RunCheck, PhasesOfMicroBatchesAreTakenForAStep) {
  Job run;
  run.steps(1);
  run.log.accumulation = 4;
  run.log.timers = {{"fwd_microstep", 40, 2000, 2000, false, true}};
  ASSERT_EQ(run.check().phases.size(), 1U);
  EXPECT_NEAR(run.check().phases[0].mean_ms, 200, 1e-9);
  run.log.timers.push_back({"fwd", 10, 2100, 2100, false, false});
  const RunCheck c = run.check();
  ASSERT_EQ(c.phases.size(), 1U) << "the step's own timer says it already";
  EXPECT_EQ(c.phases[0].name, "fwd");
}

TEST(RunCheck, WithoutAGpuOperationsAreStillCounted) {
  Job run;
  run.steps(5);
  for (StepSample& s : run.log.steps) s.tflops = 0;
  const RunCheck c = check_run({.log = run.log,
                                .settings = {},
                                .model = run.model,
                                .plan = run.plan,
                                .no_plan = {},
                                .gpu = nullptr,
                                .gpu_from = {},
                                .network = {},
                                .gpus = run.known,
                                .calibrations = {},
                                .software = {}});
  EXPECT_EQ(c.pace, Pace::unknown);
  EXPECT_GT(c.tflops, 0);
  EXPECT_EQ(c.mfu_pct, 0);
  ASSERT_EQ(c.cannot.size(), 1U);
  const RunCheck nothing = check_run({.log = {},
                                      .settings = {},
                                      .model = {},
                                      .plan = {},
                                      .no_plan = {},
                                      .gpu = nullptr,
                                      .gpu_from = {},
                                      .network = {},
                                      .gpus = {},
                                      .calibrations = {},
                                      .software = {}});
  EXPECT_EQ(nothing.cannot.size(), 2U);
}

TEST(RunCheck, WhatDoesNotBelongTogetherIsNotJudged) {
  Job run;
  run.steps(0.2);
  const RunCheck c = run.check();
  EXPECT_EQ(c.pace, Pace::unknown);
  EXPECT_FALSE(c.expected);
  EXPECT_EQ(c.cannot.size(), 2U);
}

std::size_t about_slowness(const RunCheck& c) {
  return static_cast<std::size_t>(std::count_if(c.findings.begin(), c.findings.end(), [](const Finding& f) {
    return f.title.find("slower") != std::string::npos || f.title.find("longer") != std::string::npos;
  }));
}

TEST(RunCheck, OneSlowdownIsOneFinding) {
  Job run;
  const double usual = run.predicted();
  run.steps(usual);
  for (StepSample& s : run.log.steps) s.time_s *= (s.step >= 30 ? 1.6 : 1) * (1 + 0.001 * static_cast<double>(s.step % 7));
  const RunCheck c = run.check();
  ASSERT_TRUE(c.times.shift);
  ASSERT_FALSE(c.findings.empty());
  EXPECT_NE(c.findings.front().title.find("from step 30"), std::string::npos) << c.findings.front().title;
  EXPECT_NE(c.findings.front().remedy.find("the likeliest first: a GPU, link or node"), std::string::npos);
  for (const Finding& f : c.findings) EXPECT_EQ(f.title.find("of 50 steps"), std::string::npos) << f.title;
  EXPECT_EQ(about_slowness(c), 1U);
  // Now and then, at no even distance: that is something else, and still told.
  for (StepSample& s : run.log.steps)
    s.time_s = usual * (s.step == 9 || s.step == 12 || s.step == 26 || s.step == 33 || s.step == 47 ? 2 : 1);
  const RunCheck rare = run.check();
  EXPECT_TRUE(std::any_of(rare.findings.begin(), rare.findings.end(),
                          [](const Finding& f) { return f.title.starts_with("5 of 50 steps"); }));
}

TEST(RunCheck, ARunThatWasSlowBeforeItBecameSlowerHasTwoFaults) {
  Job run;
  run.steps(2 * run.predicted());
  for (StepSample& s : run.log.steps) s.time_s *= (s.step >= 30 ? 1.6 : 1) * (1 + 0.001 * static_cast<double>(s.step % 7));
  EXPECT_EQ(about_slowness(run.check()), 2U);
}

TEST(RunCheck, AStepOfMoreThanElevenDaysIsNotCounted) {
  Job run;
  run.steps(run.predicted());
  for (std::size_t i = 0; i < 30; ++i) run.log.steps[i].time_s = 1e300;
  const RunCheck c = run.check();
  EXPECT_EQ(c.times.spread.samples, 20U);
  EXPECT_NEAR(c.times.spread.median_s, run.predicted(), 1e-9);
  ASSERT_EQ(c.cannot.size(), 1U);
  EXPECT_EQ(c.cannot.front(), "30 of 50 steps: they are said to have taken more than eleven days each");
}

TEST(RunCheck, SwitchesAreToldOfWithoutAPlan) {
  Job run;
  run.steps(1);
  CommSettings settings;
  settings.framework = "DeepSpeed";
  settings.overlap_grad_reduce = false;
  const RunCheck c = check_run({.log = run.log,
                                .settings = settings,
                                .model = {},
                                .plan = {},
                                .no_plan = {},
                                .gpu = nullptr,
                                .gpu_from = {},
                                .network = {},
                                .gpus = run.known,
                                .calibrations = {},
                                .software = {}});
  ASSERT_EQ(c.findings.size(), 1U);
  EXPECT_NE(c.findings.front().remedy.find("overlap_comm"), std::string::npos);
  ASSERT_FALSE(c.cannot.empty());
  EXPECT_EQ(c.cannot.front().find("--model"), std::string::npos) << "there is no such option";
}

TEST(RunCheck, PhasesAndWhoIsUneven) {
  Job run;
  run.steps(1);
  run.log.timers = {{"model-and-optimizer-setup", 1, 16000, 16000, true},
                    {"forward-compute", 10, 3000, 4000, true},
                    {"batch-generator", 10, 600, 800, true},
                    {"interval-time", 10, 10000, 10000, true}};
  const RunCheck c = run.check();
  ASSERT_EQ(c.phases.size(), 2U);
  EXPECT_EQ(c.phases[0].name, "forward-compute");
  EXPECT_NEAR(c.phases[0].share_pct, 40, 1e-9);
  EXPECT_NEAR(c.phases[0].spread_pct, 25, 1e-9);
  const auto has = [&](std::string_view words) {
    return std::any_of(c.findings.begin(), c.findings.end(),
                       [&](const Finding& f) { return f.title.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(has("unequal work"));
  EXPECT_TRUE(has("wait for their data"));
}

}  // namespace
}  // namespace muster::diagnose
