#include "diagnose/nccl_bandwidth.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::diagnose {
namespace {

std::vector<GpuModel> models() {
  GpuModel h100;
  h100.name = "h100";
  h100.nvlink_gb_s = 450;
  h100.nvls = true;
  h100.nic_gb_s = 50;
  GpuModel gb200 = h100;
  gb200.name = "gb200";
  gb200.domain = 72;
  return {h100, gb200};
}

struct Yard {
  std::vector<GpuModel> gpus = models();
  predict::Collectives collectives{{}, {}, gpus, {}};
  NcclYardstick yardstick(NcclHint hint = {}) const { return {collectives, gpus, std::move(hint), {}}; }
};

// A run that takes `large` times as long as expected where links carry most, and `small` times elsewhere.
NcclTestLog run_of(const Yard& y, double small, double large, std::uint32_t ranks = 8, std::uint32_t nodes = 1) {
  NcclTestRun r;
  r.op = Collective::all_reduce;
  r.ranks = ranks;
  r.nodes = nodes;
  r.per_node = ranks / nodes;
  r.gpu = "NVIDIA H100 80GB HBM3";
  CollectiveRow ask;
  ask.setup = {Collective::all_reduce, "h100", ranks, ranks / nodes, nodes > 1 ? 50.0 : 0.0, nodes > 1 ? "infiniband" : ""};
  for (double bytes = 8; bytes <= 8e9; bytes *= 4) {
    ask.bytes = bytes;
    const auto p = *y.collectives.predict(ask);
    NcclTestRow row;
    row.bytes = bytes;
    const double s = p.s * (bytes < 1e6 ? small : large);
    row.out = NcclTestTiming{s * 1e6, bytes / s / 1e9, bytes / s / 1e9 * bus_factor(*r.op, ranks), 0.0};
    r.rows.push_back(row);
  }
  NcclTestLog log;
  log.file = "a.log";
  log.runs = {r};
  return log;
}

TEST(NcclBandwidth, AsExpected) {
  const Yard y;
  const auto runs = judge_runs(run_of(y, 1, 1), y.yardstick());
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].verdict, BusVerdict::as_expected);
  EXPECT_NEAR(runs[0].large_share, 1, 1e-9);
  EXPECT_TRUE(find_in_runs(runs).empty());
}

TEST(NcclBandwidth, SlowLinksAndSlowStarts) {
  const Yard y;
  const auto links = judge_runs(run_of(y, 1, 2, 16, 2), y.yardstick());
  EXPECT_EQ(links[0].verdict, BusVerdict::slow_large);
  const auto found = find_in_runs(links);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "all_reduce over 16 GPUs h100 of 2 nodes gets 50 % of the expected bandwidth at large sizes");
  EXPECT_FALSE(found[0].remedy.empty());
  EXPECT_EQ(judge_runs(run_of(y, 4, 1), y.yardstick())[0].verdict, BusVerdict::slow_small);
  EXPECT_EQ(judge_runs(run_of(y, 4, 4), y.yardstick())[0].verdict, BusVerdict::slow);
}

TEST(NcclBandwidth, WhatIsExtrapolatedIsRough) {
  const Yard y;
  NcclTestLog log = run_of(y, 1, 1);
  log.runs[0].op = Collective::all_to_all;
  const auto runs = judge_runs(log, y.yardstick());
  const JudgedSize& small = runs[0].sizes.front();
  ASSERT_TRUE(small.expected);
  EXPECT_TRUE(small.rough());
  EXPECT_GT(small.slow_above_us, 8e6 * small.expected->s);
  for (const JudgedSize& z : runs[0].sizes) EXPECT_EQ(z.slow, z.time_us > z.slow_above_us);
}

TEST(NcclBandwidth, SmallSizesAloneAreNotCalledLarge) {
  const Yard y;
  NcclTestLog log = run_of(y, 4, 1);
  log.runs[0].rows.resize(3);
  EXPECT_EQ(judge_runs(log, y.yardstick())[0].verdict, BusVerdict::slow_small);
}

TEST(NcclBandwidth, NothingIsKnownOfTheGpu) {
  const Yard y;
  NcclTestLog log = run_of(y, 1, 2);
  log.runs[0].gpu = "";
  auto runs = judge_runs(log, y.yardstick());
  EXPECT_EQ(runs[0].verdict, BusVerdict::not_known);
  EXPECT_EQ(runs[0].why, "the GPU's model is not told: name it");
  EXPECT_EQ(judge_runs(log, y.yardstick({.gpu = "h100"}))[0].verdict, BusVerdict::slow_large);
  log.runs[0].op = {};
  EXPECT_EQ(judge_runs(log, y.yardstick({.gpu = "h100"}))[0].verdict, BusVerdict::not_known);
}

TEST(NcclBandwidth, ModelsByTheirWords) {
  const auto gpus = models();
  EXPECT_EQ(gpu_model_of("NVIDIA H100 80GB HBM3", gpus)->name, "h100");
  EXPECT_EQ(gpu_model_of("H100-SXM5", gpus)->name, "h100");
  EXPECT_EQ(gpu_model_of("NVIDIA GB200", gpus)->name, "gb200");
  EXPECT_EQ(gpu_model_of("NVIDIA H100 PCIe", gpus), nullptr);
  EXPECT_EQ(gpu_model_of("NVIDIA H100 NVL", gpus), nullptr);
  EXPECT_EQ(gpu_model_of("Tesla T4", gpus), nullptr);
}

TEST(NcclBandwidth, WrongValuesComeFirst) {
  const Yard y;
  NcclTestLog log = run_of(y, 1, 3);
  log.runs[0].rows[2].out->wrong = 5;
  const auto found = find_in_runs(judge_runs(log, y.yardstick()));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].title, "all_reduce over 8 GPUs h100 gave 5 wrong values");
}

TEST(NcclBandwidth, HowManyGpusIsSaidOnlyWhereItIsTold) {
  const Yard y;
  NcclTestLog log = run_of(y, 1, 1);
  log.runs[0].rows[2].out->wrong = 5;
  log.runs[0].ranks = 0;
  EXPECT_EQ(find_in_runs(judge_runs(log, y.yardstick()))[0].title, "all_reduce over GPUs h100 gave 5 wrong values");
  log.runs[0].gpu.clear();
  EXPECT_EQ(find_in_runs(judge_runs(log, y.yardstick()))[0].title, "all_reduce gave 5 wrong values");
  log.runs[0].ranks = 1;
  EXPECT_EQ(find_in_runs(judge_runs(log, y.yardstick()))[0].title, "all_reduce over 1 GPU gave 5 wrong values");
}

TEST(NcclBandwidth, ChangesOfALevel) {
  std::vector<double> v(40, 1.0);
  EXPECT_FALSE(level_change(v));
  for (std::size_t i = 25; i < v.size(); ++i) v[i] = 0.5;
  v[10] = 0.1;  // one that is odd changes nothing
  EXPECT_EQ(level_change(v), 25u);
  for (double& x : v) x = 1;
  v[39] = 0.1;
  EXPECT_FALSE(level_change(v));
  EXPECT_FALSE(level_change({}));
}

// `slow(rank, seq)`: times the usual time.
template <class Slow>
InspectorLog inspector(std::uint32_t ranks, std::size_t operations, const Slow& slow) {
  InspectorLog log;
  InspectorSeries s;
  s.comm = "0x1";
  s.ranks = ranks;
  s.nodes = ranks / 4;
  s.op = "AllReduce";
  s.collective = Collective::all_reduce;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    InspectorTrack t{r, "n" + std::to_string(r / 4), {}};
    for (std::size_t i = 1; i <= operations; ++i) {
      const double noise = 1 + 0.02 * static_cast<double>((i * 7 + r * 3) % 5);
      t.samples.push_back({i, 1e8, 1000 * noise * slow(r, i), 0});
    }
    s.tracks.push_back(std::move(t));
  }
  log.series = {s};
  return log;
}

TEST(NcclInspectorJudge, ARankThatIsSlowSinceSome) {
  const Yard y;
  const auto log = inspector(16, 100, [](std::uint32_t r, std::size_t i) { return r == 5 && i >= 61 ? 2.0 : 1.0; });
  const auto series = judge_inspector(log, y.yardstick());
  ASSERT_EQ(series.size(), 1u);
  ASSERT_EQ(series[0].odd.size(), 1u);
  EXPECT_EQ(series[0].odd[0].rank, 5u);
  EXPECT_EQ(series[0].odd[0].since, 61u);
  EXPECT_FALSE(series[0].odd[0].from_start);
  EXPECT_FALSE(series[0].odd[0].late);
  EXPECT_NEAR(series[0].odd[0].share, 0.5, 0.05);
  const auto found = find_in_inspector(series);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "rank 5 on n1 is slower than the others in all_reduce of communicator 0x1");
}

TEST(NcclInspectorJudge, TheLastToComeIsInItTheShortest) {
  const Yard y;
  const auto log = inspector(16, 50, [](std::uint32_t r, std::size_t) { return r == 3 ? 0.5 : 1.0; });
  const auto series = judge_inspector(log, y.yardstick());
  ASSERT_EQ(series[0].odd.size(), 1u);
  EXPECT_TRUE(series[0].odd[0].late);
  EXPECT_TRUE(series[0].odd[0].from_start);
  EXPECT_EQ(find_in_inspector(series)[0].title, "the others wait for rank 3 on n0 in all_reduce of communicator 0x1");
}

TEST(NcclInspectorJudge, AWholeNode) {
  const Yard y;
  const auto log = inspector(16, 50, [](std::uint32_t r, std::size_t) { return r / 4 == 2 ? 1.5 : 1.0; });
  const auto series = judge_inspector(log, y.yardstick());
  EXPECT_EQ(series[0].odd_hosts, std::vector<std::string>{"n2"});
  const auto found = find_in_inspector(series);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "node n2 is slower than the others in all_reduce of communicator 0x1");
}

TEST(NcclInspectorJudge, AllOfThemAtOnce) {
  const Yard y;
  const auto log = inspector(8, 60, [](std::uint32_t, std::size_t i) { return i >= 31 ? 2.0 : 1.0; });
  const auto series = judge_inspector(log, y.yardstick());
  EXPECT_TRUE(series[0].odd.empty());
  EXPECT_EQ(series[0].since, 31u);
  EXPECT_NEAR(series[0].since_share, 0.5, 0.05);
}

TEST(NcclInspectorJudge, NothingIsWrong) {
  const Yard y;
  const auto log = inspector(16, 100, [](std::uint32_t, std::size_t) { return 1.0; });
  const auto series = judge_inspector(log, y.yardstick());
  EXPECT_TRUE(series[0].odd.empty());
  EXPECT_FALSE(series[0].since);
  EXPECT_TRUE(find_in_inspector(series).empty());
}

}  // namespace
}  // namespace muster::diagnose
