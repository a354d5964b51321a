#include "diagnose/stragglers.h"

#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

// Two replicas of two stages, two micro-batches, steps as `steps`; how long a worker computes is `length(dp, stage, step)`. The
// trace is what such a job would have written: each waits for what it needs.
template <class F>
OpTrace job(std::uint32_t steps, const F& length, double sync_s = 0.01) {
  OpTrace t;
  t.types = {"forward-compute", "forward-send",  "forward-recv",        "backward-compute",
             "backward-send",   "backward-recv", "grads-reduce-scatter"};
  t.dp = t.stages = 2;
  for (std::uint32_t step = 0; step < steps; ++step) {
    double done[2] = {};
    std::vector<JobOp> last;
    for (std::uint32_t dp = 0; dp < 2; ++dp) {
      const double a = length(dp, 0U, step), b = length(dp, 1U, step), send = 0.001;
      double t0 = 0, t1 = 0;
      const auto op = [&](std::uint32_t stage, std::uint16_t type, std::int32_t seq, double& at, double s) {
        t.ops.push_back({dp, stage, step, seq, type, at, s});
        at += s;
      };
      const auto pass = [&](std::uint32_t from, std::uint16_t out, std::uint16_t in, std::int32_t seq) {
        double& x = from == 0 ? t0 : t1;
        double& y = from == 0 ? t1 : t0;
        const double end = std::max(x, y) + send;
        op(from, out, seq, x, end - x);
        op(1 - from, in, seq, y, end - y);
      };
      for (std::int32_t m = 0; m < 2; ++m) {
        op(0, 0, m, t0, a);
        pass(0, 1, 2, m);
        op(1, 0, m, t1, b);
        op(1, 3, m, t1, 2 * b);
        pass(1, 4, 5, m);
        op(0, 3, m, t0, 2 * a);
      }
      done[0] = std::max(done[0], t0);
      done[1] = std::max(done[1], t1);
      last.push_back({dp, 0, step, 0, 6, t0, 0});
      last.push_back({dp, 1, step, 0, 6, t1, 0});
    }
    for (JobOp& o : last) {
      o.length_s = done[o.stage] + sync_s - o.start_s;
      t.ops.push_back(o);
    }
  }
  return t;
}

TEST(Stragglers, NobodyIsSlow) {
  const auto s = find_stragglers(job(3, [](auto, auto, auto) { return 0.1; }));
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_NEAR(s->slowdown(), 1, 1e-9);
  EXPECT_EQ(s->cause, StragglerCause::none);
  EXPECT_NEAR(s->off(), 0, 1e-9) << "a replay is what was measured";
}

TEST(Stragglers, AWorkerThatIsSlow) {
  const auto s = find_stragglers(job(3, [](auto dp, auto stage, auto) { return dp == 1 && stage == 0 ? 0.2 : 0.1; }));
  ASSERT_TRUE(s);
  EXPECT_EQ(s->cause, StragglerCause::worker);
  EXPECT_EQ(s->workers.front().dp, 1U);
  EXPECT_EQ(s->workers.front().stage, 0U);
  EXPECT_GT(s->workers.front().recovered, 0.9);
  EXPECT_GT(s->slowdown(), 1.15);
  EXPECT_NEAR(s->off(), 0, 1e-9);
}

TEST(Stragglers, AStageThatHasMoreToDo) {
  const auto s = find_stragglers(job(3, [](auto, auto stage, auto) { return stage == 1 ? 0.2 : 0.1; }));
  ASSERT_TRUE(s);
  EXPECT_NEAR(s->off(), 0, 1e-9);
  // Of two stages in turn one's gain is the other's loss: nothing is lost by it, and so it is said.
  EXPECT_LT(s->slowdown(), 1.2);
}

TEST(Stragglers, WhatCannotBePlayedIsSaid) {
  OpTrace t;
  t.types = {"forward-send", "forward-recv"};
  t.dp = 1;
  t.stages = 2;
  // Each stage waits for the other's first.
  t.ops = {{0, 0, 0, 1, 0, 0, 1}, {0, 0, 0, 0, 0, 5, 1}, {0, 1, 0, 0, 1, 0, 1}, {0, 1, 0, 1, 1, 5, 1}};
  const auto s = find_stragglers(t);
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().what.find("in a circle"), std::string::npos);
}

}  // namespace
}  // namespace muster::diagnose
