#include "design/tune_sweep.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/prng.h"
#include "design/tune.h"

namespace muster::design {
namespace {

using A = NcclAlgorithm;
using P = NcclProtocol;

double truly(const NcclWay& way, double bytes) {
  const double kib = bytes / 1024;
  const double lanes = way.channels == 0 ? 2 : way.channels;
  if (way.own) return (60 + kib * (bytes < (1 << 20) ? 1.6 : 0.5)) * (way.buffer_bytes != 0 ? 0.9 : 1);
  switch (way.protocol) {
    case P::ll: return (way.algorithm == A::tree ? 55 : 70) + kib * 1.6;
    case P::ll128: return 80 + kib * 0.9;
    case P::simple: return 130 + kib * 0.5 * (2 / lanes + 1) / 2 + 2 * lanes;
  }
  return 0;
}

struct Swept {
  std::vector<SweepRun> runs;
  std::map<SweepStage, int> stages;
  SweepStage end = SweepStage::done;
};

Swept sweep(const SweepAsk& ask, double seconds, std::uint64_t seed = 1) {
  Prng prng(seed, "sweep");
  Swept out;
  for (int i = 0; i < 2000; ++i) {
    const SweepStep step = next_step(ask, out.runs);
    ++out.stages[step.stage];
    out.end = step.stage;
    if (step.stage == SweepStage::done || step.stage == SweepStage::no_time) break;
    SweepRun run{{Collective::all_reduce, 4, 1, 1, false}, step.way, step.run, seconds, "", {}};
    for (double bytes = 1024; bytes <= (1 << 24); bytes *= 4)
      run.times.emplace_back(bytes, truly(step.way, bytes) * prng.lognormal(0, 0.03));
    if (step.way.algorithm == A::tree && step.way.protocol == P::ll128 && !step.way.own) {
      run.failure = "exit 3";
      run.times.clear();
    }
    out.runs.push_back(run);
  }
  return out;
}

TEST(TuneSweep, ExploresHalvesAndRepeats) {
  SweepAsk ask;
  ask.channels = {1, 4, 8};
  ask.buffers = {1 << 21};
  ask.budget_s = 1e6;
  const Swept s = sweep(ask, 10);
  EXPECT_EQ(s.end, SweepStage::done);
  EXPECT_EQ(s.stages.at(SweepStage::ways), 7);
  EXPECT_GE(s.stages.at(SweepStage::channels), 6);
  EXPECT_EQ(s.stages.at(SweepStage::buffers), 1);
  std::map<NcclWay, int> times;
  for (const SweepRun& r : s.runs) ++times[r.way];
  EXPECT_EQ(times.at(NcclWay{}), 8);
  int often = 0;
  for (const auto& [way, n] : times) {
    EXPECT_LE(n, 8);
    often += n == 8;
  }
  EXPECT_GE(often, 3);
  EXPECT_LT(often, static_cast<int>(times.size()));  // most are given up early
  EXPECT_LT(s.runs.size(), times.size() * 8 / 2);
}

TEST(TuneSweep, WhatFailedIsNotTriedAgain) {
  SweepAsk ask;
  ask.budget_s = 1e6;
  int failed = 0;
  for (const SweepRun& r : sweep(ask, 10).runs) failed += !r.failure.empty();
  EXPECT_EQ(failed, 1);
}

TEST(TuneSweep, StaysWithinItsBudget) {
  for (const double budget : {5.0, 100.0, 333.0, 1000.0}) {
    SweepAsk ask;
    ask.channels = {1, 4, 8};
    ask.budget_s = budget;
    const Swept s = sweep(ask, 10);
    double spent = 0;
    std::uint32_t own = 0;
    for (const SweepRun& r : s.runs) {
      spent += r.seconds;
      own += r.way.own;
    }
    EXPECT_LE(spent, std::max(10.0, budget));
    EXPECT_GE(own, 1u);  // without which nothing could be said
    if (budget >= 333) {
      EXPECT_GE(own, 4u) << budget;
    }
  }
}

TEST(TuneSweep, GoesOnWhereItStood) {
  SweepAsk ask;
  ask.channels = {1, 4};
  ask.budget_s = 1e6;
  const Swept whole = sweep(ask, 10);
  for (std::size_t cut = 0; cut < whole.runs.size(); cut += 5) {
    const SweepStep step = next_step(ask, std::span(whole.runs).first(cut));
    EXPECT_EQ(step.way, whole.runs[cut].way);
    EXPECT_EQ(step.run, whole.runs[cut].run);
  }
}

TEST(TuneSweep, WhatItMeasuredIsEnoughToTune) {
  SweepAsk ask;
  ask.channels = {1, 4, 8};
  ask.budget_s = 1e6;
  std::vector<TuneTime> times;
  for (const SweepRun& r : sweep(ask, 10).runs) {
    for (const auto& [bytes, us] : r.times) times.push_back({r.key, bytes, r.way, r.run, us});
  }
  const auto all = tune(times, {});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_GE(all[0].overridden(), 2u);
  for (const TunedSize& s : all[0].sizes) {
    const double us = s.choice.own ? truly({}, s.bytes) : truly(s.choice, s.bytes);
    EXPECT_LE(us, 1.03 * truly({}, s.bytes)) << s.bytes;
  }
}

TEST(TuneSweep, NcclsOwnFailing) {
  SweepAsk ask;
  std::vector<SweepRun> runs = {{{}, {}, 0, 5, "exit 1", {}}};
  EXPECT_EQ(next_step(ask, runs).stage, SweepStage::done);
  runs.insert(runs.begin(), SweepRun{{}, {}, 0, 5, "", {{1024, 10}}});
  EXPECT_EQ(next_step(ask, runs).stage, SweepStage::ways) << "it went well before: one launch that did not ends no sweep";
}

TEST(TuneSweep, OnlyWhatNcclHas) {
  EXPECT_FALSE(nccl_has(Collective::all_gather, A::tree, P::ll));
  EXPECT_FALSE(nccl_has(Collective::all_reduce, A::pat, P::simple));
  EXPECT_FALSE(nccl_has(Collective::all_reduce, A::nvls, P::ll));
  EXPECT_TRUE(nccl_has(Collective::reduce_scatter, A::pat, P::simple));
  SweepAsk ask;
  ask.op = Collective::broadcast;
  ask.algorithms = {A::tree, A::ring, A::nvls};
  ask.budget_s = 1e6;
  std::set<A> seen;
  for (const SweepRun& r : sweep(ask, 1).runs) {
    if (!r.way.own) seen.insert(r.way.algorithm);
  }
  EXPECT_EQ(seen, std::set<A>{A::ring});
}

}  // namespace
}  // namespace muster::design
