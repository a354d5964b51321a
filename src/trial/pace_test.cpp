// Checkpoint writers on a store that is the bottleneck: left alone, and paced by the controller.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "control/replay.h"
#include "decide/pace/advice.h"
#include "predict/checkpoint.h"
#include "trial/checker.h"
#include "trial/controlled.h"

namespace muster::trial {
namespace {

constexpr std::uint32_t kJobs = 12;
constexpr std::uint32_t kNodes = 32;  // of each

// Twelve gangs, started together, each with a checkpoint of a minute every half hour if it has the store for itself.
// `stall_s`: of one that is written beside the steps; below 0: they stop for all of it.
twin::Config crowd(bool paced, double stall_s = -1) {
  twin::Config c = twin::plain_config(kNodes * kJobs);
  c.site.storage_write_gbs = 8;
  c.workload.mix.clear();
  c.weather.factor = 0;
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    JobSpec j;
    j.name = fmt::format("j{}", i);
    j.nodes = kNodes;
    j.step_s = 10;
    j.steps = 1'000'000;
    j.init_s = 100;
    j.checkpoint_every_s = 1800;
    j.checkpoint_gb = 480;
    j.checkpoint_stall_s = stall_s;
    j.paced = paced;
    c.workload.jobs.push_back({seconds(1), std::move(j)});
  }
  return c;
}

struct Seen {
  double stall_s = 0;  // of all jobs, at checkpoints
  std::uint32_t written = 0;
  std::uint32_t at_once = 0;  // most writers at the store at one moment
  std::uint32_t orders = 0;
};

Seen look(const std::vector<Event>& events) {
  Seen out;
  std::map<JobId, Progress> last;
  std::vector<std::pair<Time, int>> edges;
  for (const Event& e : events) {
    if (const auto* o = std::get_if<OrderIntended>(&e.body)) out.orders += o->order.action.verb == Verb::pace_job ? 1 : 0;
    const auto* p = std::get_if<JobProgressed>(&e.body);
    if (p == nullptr) continue;
    const std::int64_t ms = p->progress.checkpoint_ms - last[p->job].checkpoint_ms;
    last[p->job] = p->progress;
    out.stall_s += static_cast<double>(ms) / 1000;
    ++out.written;
    edges.emplace_back(e.utc - milliseconds(ms - 10), 1);
    edges.emplace_back(e.utc, -1);
  }
  std::sort(edges.begin(), edges.end());
  std::int32_t now = 0;
  for (const auto& [at, change] : edges) out.at_once = std::max(out.at_once, static_cast<std::uint32_t>(now += change));
  return out;
}

TEST(Pace, WritersDoNotMeetAndTheStallFalls) {
  Controlled alone(crowd(false));
  alone.run(hours(24));
  Controlled paced(crowd(true));
  paced.run(hours(24));
  const Seen a = look(alone.journal.events);
  const Seen b = look(paced.journal.events);
  std::printf("left alone: %u checkpoints, %.0f s of stall in all, %.0f s each, at most %u writers at once\n", a.written,
              a.stall_s, a.stall_s / a.written, a.at_once);
  std::printf("paced:      %u checkpoints, %.0f s of stall in all, %.0f s each, at most %u writers at once, %u orders\n",
              b.written, b.stall_s, b.stall_s / b.written, b.at_once, b.orders);
  EXPECT_EQ(a.orders, 0U);
  EXPECT_EQ(a.at_once, kJobs);
  EXPECT_LE(b.at_once, 2U);
  EXPECT_LT(b.stall_s * 2, a.stall_s);
  EXPECT_LT(b.stall_s / b.written * 2, a.stall_s / a.written) << "of each one, too: not only because there are fewer";
  EXPECT_LE(b.orders, 3 * kJobs) << "told once at the start and once or twice more, not at every checkpoint";
}

// How many steps further a job was when a checkpoint was safe at last: what a failure just before would have cost more. Mean.
double steps_behind(const std::vector<Event>& events) {
  double sum = 0, count = 0;
  for (const Event& e : events) {
    const auto* p = std::get_if<JobProgressed>(&e.body);
    if (p == nullptr) continue;
    sum += static_cast<double>(p->progress.steps - p->progress.durable_steps);
    ++count;
  }
  return sum / std::max(count, 1.0);
}

TEST(Pace, WhatIsWrittenBesideTheStepsIsSafeSooner) {
  Controlled alone(crowd(false, 2));
  alone.run(hours(24));
  Controlled paced(crowd(true, 2));
  paced.run(hours(24));
  const double a = steps_behind(alone.journal.events);
  const double b = steps_behind(paced.journal.events);
  std::printf("written beside the steps: safe %.1f steps later when left alone, %.1f when paced, %u orders\n", a, b,
              look(paced.journal.events).orders);
  EXPECT_LT(b * 2, a);
  EXPECT_LE(look(paced.journal.events).orders, 4 * kJobs);
}

TEST(Pace, TheUsefulShareIsWithinOnePercentOfTheBest) {
  Controlled c(crowd(true));
  c.run(hours(24));
  const State& s = c.loop->state();
  const decide::FailureRate rate = decide::failure_rate(s);
  double worst = 1;
  for (const auto& [id, j] : s.jobs) {
    const auto v = decide::checkpoint_view(s, j, rate);
    ASSERT_TRUE(v) << render(id);
    ASSERT_GT(j.paced_every.ns, 0) << render(id);
    worst = std::min(worst, v->useful / v->useful_advised);
  }
  std::printf("useful share of the worst-paced job: %.4f of the best there is\n", worst);
  EXPECT_GT(worst, 0.99);
}

TEST(Pace, AReplayDecidesTheSameAndNoInvariantBreaks) {
  twin::Config config = crowd(true);
  config.weather = stormy(1, 200).weather;
  Controlled c(config);
  c.run(hours(24));
  ASSERT_GT(c.twin.faults().size(), 5U);
  Checker checker(c.site, c.policy);
  control::Books b;
  for (const Event& e : c.journal.events) {
    control::fold_event(b, e);
    checker.on_event(e, b.state);
  }
  EXPECT_EQ(checker.violations(), std::vector<std::string>{});
  EXPECT_EQ(encode_state(b.state), encode_state(c.loop->state()));
  const auto again = control::replay(c.journal, std::nullopt);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_GT(again->decisions, 2 * kJobs);
  if (again->difference)
    ADD_FAILURE() << "recorded: " << again->difference->recorded << "\ndecided:  " << again->difference->decided;
  EXPECT_GT(look(c.journal.events).orders, kJobs) << "told again after each restart";
}

}  // namespace
}  // namespace muster::trial
