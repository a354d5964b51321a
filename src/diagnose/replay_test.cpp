#include "diagnose/replay.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "diagnose/trace_builder.h"

namespace muster::diagnose {
namespace {

// What a step takes, measured and with something changed.
struct Both {
  Timeline line;
  Replay replay;
  explicit Both(const Trace& t) : line(timeline(t)), replay(t, line) {}
  double ratio(const Change& c) const { return static_cast<double>(replay.step_ns(c)) / static_cast<double>(line.step_ns()); }
};

TEST(Replay, AHostThatRunsAhead) {
  Machine m;
  m.steps(6, [&](int) {
    for (int i = 0; i < 20; ++i) m.kernel(200 * us);
  });
  const Both r(m.b.t);
  EXPECT_FALSE(r.line.lockstep);
  EXPECT_LT(r.replay.error(), 0.001);
  EXPECT_NEAR(static_cast<double>(r.replay.step_ns()), 20 * 201.5e3, 2e3);
  Change half;
  for (const GpuEvent* e : r.line.events) half.lengths_ns.push_back(e->span.length() / 2);
  EXPECT_NEAR(r.ratio(half), 101.5 / 201.5, 0.001);
  Change graph;
  graph.graph = true;
  EXPECT_NEAR(r.ratio(graph), 200.6 / 201.5, 0.002) << "only the gaps between its kernels are shorter";
}

TEST(Replay, AHostThatLaunchesSlowly) {
  Machine m;
  m.steps(5, [&](int) {
    for (int i = 0; i < 30; ++i) {
      m.think(16 * us);
      m.kernel(4 * us);
    }
  });
  const Both r(m.b.t);
  EXPECT_LT(r.replay.error(), 0.01);
  Change graph;
  graph.graph = true;
  EXPECT_NEAR(static_cast<double>(r.replay.step_ns(graph)), 30 * 4.6e3, 30e3) << "one launch, and the kernels after each other";
  Change shorter;
  shorter.lengths_ns.assign(r.line.events.size(), 1 * us);
  EXPECT_NEAR(r.ratio(shorter), 1, 0.02) << "kernels are not what it waits for";
}

TEST(Replay, AHostThatWaitsForEachResult) {
  Machine m;
  m.steps(5, [&](int) {
    for (int i = 0; i < 10; ++i) {
      m.think(100 * us);
      m.kernel(100 * us);
      m.wait();
    }
  });
  const Both r(m.b.t);
  EXPECT_TRUE(r.line.lockstep);
  EXPECT_LT(r.replay.error(), 0.01);
  Change none;
  none.no_waits = true;
  EXPECT_NEAR(static_cast<double>(r.replay.step_ns(none)), 10 * 110e3, 20e3) << "the host's own work is left";
}

TEST(Replay, BatchesThatAreThere) {
  Machine m;
  m.steps(5, [&](int) {
    m.fetch(3 * ms);
    m.think(50 * us);
    m.kernel(1 * ms);
    m.wait();
  });
  const Both r(m.b.t);
  EXPECT_LT(r.replay.error(), 0.01);
  Change fed;
  fed.no_input = true;
  EXPECT_NEAR(static_cast<double>(r.replay.step_ns(fed)), 1.06e6, 0.02e6);
  Change waits;
  waits.no_waits = true;
  EXPECT_NEAR(static_cast<double>(r.replay.step_ns(waits)), 3.16e6, 0.11e6) << "batches stay what it waits for";
}

TEST(Replay, CopiesThatKeepTheHost) {
  Machine m;
  m.steps(5, [&](int) {
    m.copy_pageable(2 * ms, 40 << 20);
    for (int i = 0; i < 10; ++i) m.kernel(300 * us);
  });
  const Both r(m.b.t);
  EXPECT_LT(r.replay.error(), 0.01);
  Change pinned;
  pinned.free_copies = true;
  for (const GpuEvent* e : r.line.events)
    pinned.lengths_ns.push_back(e->work == GpuWork::copy ? e->span.length() / 4 : e->span.length());
  EXPECT_NEAR(static_cast<double>(r.replay.step_ns(pinned)), 3.5e6, 0.05e6);
}

TEST(Replay, WhatIsNotThereTakesNoTimeNorItsLaunch) {
  Machine m;
  m.steps(6, [&](int) {
    for (int i = 0; i < 10; ++i) {
      m.think(20 * us);
      m.kernel(5 * us);
    }
  });
  const Both r(m.b.t);
  Change half, zero;
  for (std::size_t e = 0; e < r.line.events.size(); ++e) {
    half.lengths_ns.push_back(e % 2 == 1 ? -1 : 5 * us);
    zero.lengths_ns.push_back(e % 2 == 1 ? 0 : 5 * us);
  }
  EXPECT_NEAR(r.ratio(half), 0.5, 0.03);
  EXPECT_NEAR(r.ratio(zero), 1, 0.03) << "a kernel of no length is launched all the same";
}

TEST(Replay, AnotherStreamIsWaitedFor) {
  Machine m;
  m.steps(5, [&](int) {
    const std::int64_t fetched = m.kernel(500 * us, 8);
    m.kernel(300 * us, 7, fetched);
    m.wait();
  });
  const Both r(m.b.t);
  EXPECT_LT(r.replay.error(), 0.01);
  Change faster;
  for (const GpuEvent* e : r.line.events) faster.lengths_ns.push_back(e->stream == 8 ? 100 * us : e->span.length());
  EXPECT_NEAR(static_cast<double>(r.line.step_ns() - r.replay.step_ns(faster)), 400e3, 10e3);
}

TEST(Replay, WhatTheProfilerItselfTook) {
  Machine m;
  m.steps(5, [&](int) {
    for (int i = 0; i < 20; ++i) {
      m.b.op({m.host + us, m.host + 2 * us}, "aten::mm");
      m.think(20 * us);
      m.kernel(2 * us);
    }
  });
  const Both r(m.b.t);
  Change bare;
  bare.host_event_ns = 3 * us;
  EXPECT_NEAR(r.ratio(bare), 18.0 / 24, 0.03) << "an operator and a call for each kernel, three microseconds each";
  bare.host_event_ns = 1 * ms;
  EXPECT_NEAR(r.ratio(bare), 9.0 / 24, 0.03) << "never more than three quarters of what the host did";
}

TEST(Replay, WorkThatEndsJustAfterTheLastMark) {
  Machine m;
  m.steps(2, [&](int) {
    m.kernel(890 * us);
    m.think(870 * us);
  });
  m.b.event({m.host + 10 * ms, m.host + 11 * ms}, "k");  // and something later, that nobody is known to have launched
  const Both r(m.b.t);
  EXPECT_TRUE(r.line.lockstep);
  EXPECT_LT(r.replay.error(), 0.001);
  Change longer;
  for (const GpuEvent* e : r.line.events) longer.lengths_ns.push_back(e->span.length() + ms);
  EXPECT_GT(r.ratio(longer), 1.4) << "and yet it counts if it is longer";
}

TEST(Replay, OneStepOrTwo) {
  for (const int marks : {1, 2}) {
    Machine m;
    m.steps(marks, [&](int) {
      m.think(500 * us);
      for (int i = 0; i < 20; ++i) m.kernel(200 * us);
    });
    const Both r(m.b.t);
    EXPECT_EQ(r.line.steps.size(), 1U);
    EXPECT_LT(r.replay.error(), 0.01) << marks << " marks, measured " << r.line.step_ns() << ", played " << r.replay.step_ns();
  }
}

TEST(Replay, EmptyAndTinyTraces) {
  const Both nothing{Trace{}};
  EXPECT_EQ(nothing.replay.step_ns(), 0);
  EXPECT_EQ(nothing.replay.error(), 1);
  TraceBuilder one;
  one.event({5, 10}, "k");
  const Both alone(one.t);
  EXPECT_EQ(alone.replay.step_ns(), 5);
  TraceBuilder none;
  none.event({5, 5}, "k");
  EXPECT_EQ(Both(none.t).replay.error(), 1) << "no time passed";
}

// A program at random: the same steps again and again, give or take a tenth.
Machine program(Prng& r) {
  struct Act {
    std::uint64_t kind;
    std::int64_t ns;
    std::uint32_t stream;
    std::int64_t think;
  };
  std::vector<Act> acts;
  const std::int64_t typical = r.chance(0.5) ? 8 * us : 150 * us;
  const double waits = r.chance(0.5) ? 0 : 0.1;
  const bool side = r.chance(0.5);
  for (std::uint64_t n = 15 + r.below(40); n > 0; --n) {
    const double x = r.unit();
    acts.push_back({x < waits          ? 1U
                    : x < waits + 0.03 ? 2U
                    : x < waits + 0.06 ? 3U
                    : side && x > 0.9  ? 4U
                                       : 0U,
                    static_cast<std::int64_t>(r.exponential(static_cast<double>(typical))) + us, side && r.chance(0.2) ? 8U : 7U,
                    static_cast<std::int64_t>(r.exponential(static_cast<double>(8 * us)))});
  }
  const bool loads = r.chance(0.3), ends = r.chance(0.5);
  Machine m;
  m.steps(5, [&](int) {
    if (loads) m.fetch(static_cast<std::int64_t>(r.below(2'000)) * us);
    for (const Act& a : acts) {
      const auto about = [&](std::int64_t ns) {
        return static_cast<std::int64_t>(static_cast<double>(ns) * (0.95 + 0.1 * r.unit()));
      };
      m.think(about(a.think));
      switch (a.kind) {
        case 1: m.wait(a.stream); break;
        case 2: m.copy_pageable(about(a.ns * 5 + 20 * us), 1 << 20); break;
        case 3: m.copy_pinned(about(a.ns), 1 << 20, a.stream); break;
        case 4: m.kernel(about(a.ns), 7, m.kernel(about(a.ns * 3), 8)); break;
        default: m.kernel(about(a.ns), a.stream); break;
      }
    }
    if (ends) m.wait();
    if (ends) m.wait(8);
  });
  return m;
}

TEST(Replay, TakesWhatProgramsTook) {
  double worst = 0, sum = 0;
  std::uint64_t worst_seed = 0;
  constexpr std::uint64_t kPrograms = 300;
  std::uint64_t off = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    Prng r(seed, "replay");
    const Machine m = program(r);
    const Both both(m.b.t);
    const double error = both.replay.error();
    sum += error;
    off += error > 0.01 ? 1 : 0;
    if (error > worst) {
      worst = error;
      worst_seed = seed;
    }
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LT(worst, 0.01) << "seed " << worst_seed << ", mean " << sum / kPrograms << ", " << off << " off";
}

TEST(Replay, ShorterKernelsNeverMakeAStepLonger) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Prng r(seed, "shorter");
    const Machine m = program(r);
    const Both both(m.b.t);
    Change before, after;
    for (const GpuEvent* e : both.line.events) {
      before.lengths_ns.push_back(r.chance(0.3) ? e->span.length() * 2 : e->span.length());
      const std::int64_t shorter = static_cast<std::int64_t>(static_cast<double>(before.lengths_ns.back()) * r.unit());
      after.lengths_ns.push_back(r.chance(0.5) ? before.lengths_ns.back() : shorter);
    }
    ASSERT_LE(both.replay.step_ns(after), both.replay.step_ns(before)) << "seed " << seed;
    for (const int flag : {0, 1, 2, 3}) {
      Change c = after;
      (flag == 0 ? c.no_waits : flag == 1 ? c.no_input : flag == 2 ? c.free_copies : c.graph) = true;
      ASSERT_LE(flag < 3 ? both.replay.step_ns(c) : 0, both.replay.step_ns(after)) << "seed " << seed << " flag " << flag;
      ASSERT_GE(both.replay.step_ns(c), 0);
    }
  }
}

}  // namespace
}  // namespace muster::diagnose
