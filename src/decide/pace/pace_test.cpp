#include "decide/pace/pace.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "decide/pace/advice.h"
#include "model/story.h"
#include "predict/checkpoint.h"

namespace muster::decide {
namespace {

// Whether two writers are ever at the store together, by looking at every moment of the longer period.
bool ever_meet(const Writer& a, const Writer& b) {
  const double longest = std::max(a.every_s, b.every_s);
  for (double x = a.at_s; x < a.at_s + longest; x += a.every_s) {
    for (double y = b.at_s - 2 * longest; y < a.at_s + 2 * longest; y += b.every_s) {
      if (x < y + b.write_s && y < x + a.write_s) return true;
    }
  }
  return false;
}

TEST(Period, IsTheNearestMinuteTimesAPowerOfTwo) {
  EXPECT_EQ(period_near(1), 60);
  EXPECT_EQ(period_near(84), 60);
  EXPECT_EQ(period_near(86), 120);
  EXPECT_EQ(period_near(1800), 1920);
  EXPECT_EQ(period_near(1e9), 60 * 1024);
  for (double s = 60; s < 40'000; s *= 1.07) {
    EXPECT_LE(std::max(s / period_near(s), period_near(s) / s), 1.4143) << s;
  }
}

TEST(Period, CostsLittleOfTheUsefulShare) {
  for (const double rate_per_h : {0.001, 0.01, 0.1, 0.3}) {
    for (const double stall : {1.0, 5.0, 30.0, 120.0}) {
      const predict::CheckpointAsk ask{rate_per_h / 3600, stall, 180, 0};
      const predict::CheckpointAdvice best = predict::young_daly(ask);
      const double period = period_near(best.interval_s + stall);
      EXPECT_GT(predict::useful_share(ask, period - stall), 0.99 * best.useful) << rate_per_h << " " << stall;
    }
  }
}

TEST(Slots, OneAfterTheOtherAllFitWhereThereIsRoom) {
  std::vector<Writer> all;
  for (int i = 0; i < 16; ++i) {
    const Slot s = widest_slot(all, 1920, 60, 960);
    EXPECT_GE(s.at_s, 960);
    EXPECT_LT(s.at_s, 960 + 1920);
    EXPECT_GE(s.free_s, 0) << i;
    const Writer w{1920, s.at_s, 60};
    EXPECT_EQ(overlap(all, w), 0) << i;
    for (const Writer& o : all) EXPECT_FALSE(ever_meet(o, w));
    all.push_back(w);
  }
}

TEST(Slots, OfDifferentPeriodsNeverMeet) {
  Prng prng(5, "slots");
  std::vector<Writer> all;
  double used = 0;
  for (int i = 0; i < 40 && used < 0.4; ++i) {
    const double every = 240 * static_cast<double>(1 << prng.below(4));
    const double write = 2 + 8 * prng.unit();
    used += write / every;
    const Slot s = widest_slot(all, every, write, every / 2);
    ASSERT_GE(s.free_s, 0) << i;
    const Writer w{every, s.at_s, write};
    for (const Writer& o : all) EXPECT_FALSE(ever_meet(o, w)) << i;
    all.push_back(w);
  }
  EXPECT_GT(all.size(), 10U);
}

TEST(Slots, WhereThereIsNoRoomTheyMeetAndItIsSaid) {
  const std::vector<Writer> full = {{120, 0, 70}, {120, 60, 50}};
  EXPECT_LT(widest_slot(full, 120, 30, 60).free_s, 0);
  EXPECT_GT(overlap(full, {120, 30, 30}), 0);
  EXPECT_EQ(overlap({}, {120, 30, 30}), 0);
}

class Paced : public ::testing::Test {
 protected:
  Paced() : t(32) { settle(t.s); }
  JobId paced(std::uint32_t first, double every_s = 1800, bool opted = true) {
    const JobId id = t.submit(4);
    t.s.jobs.at(id).spec.paced = opted;
    t.s.jobs.at(id).spec.checkpoint_every_s = every_s;
    t.tell(JobStarted{id, 1, {NodeId{first}, NodeId{first + 1}, NodeId{first + 2}, NodeId{first + 3}}, {}});
    return id;
  }
  void wrote(JobId id, std::int64_t stall_ms) {
    Progress p = t.s.jobs.at(id).progress;
    p.durable_steps += 100;
    p.steps = p.durable_steps;
    p.init_ms = 120'000;
    p.checkpoint_ms += stall_ms;
    ++p.checkpoints;
    t.tell(JobProgressed{id, t.s.jobs.at(id).attempt, p});
  }
  std::vector<Action> decide(bool obeyed = true) {
    Decisions out;
    decide_pace(t.s, out);
    settle(t.s);
    std::vector<Action> actions;
    for (Decision& d : out) {
      auto& w = std::get<Wanted>(d);
      EXPECT_EQ(w.action.verb, Verb::pace_job);
      EXPECT_FALSE(w.reason.sentence.empty());
      Order o;
      o.key = "p-" + std::to_string(t.s.totals.orders + 1);
      o.action = w.action;
      o.reason = w.reason;
      t.tell(OrderIntended{o, {}});
      if (obeyed) t.ends(o.key);
      actions.push_back(o.action);
    }
    settle(t.s);
    return actions;
  }
  Story t;
};

TEST_F(Paced, AJobIsToldWhenItStartsAndThenLeftAlone) {
  const JobId id = paced(0);
  EXPECT_FALSE(pace_due(t.s)) << "nothing was written yet";
  const auto first = decide();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].every.seconds(), 1920) << "its owner's interval, on the grid";
  EXPECT_EQ(t.s.jobs.at(id).paced_every, first[0].every);
  t.pass(minutes(30));
  EXPECT_TRUE(decide().empty());
  // Now it is known how long one takes, and the period follows.
  wrote(id, 30'000);
  EXPECT_TRUE(pace_due(t.s));
  const auto again = decide();
  ASSERT_EQ(again.size(), 1U);
  const auto view = checkpoint_view(t.s, t.s.jobs.at(id), failure_rate(t.s));
  ASSERT_TRUE(view);
  EXPECT_LE(std::max(view->advised_s / again[0].every.seconds(), again[0].every.seconds() / view->advised_s), 1.43);
  for (int i = 0; i < 5; ++i) {
    t.pass(hours(1));
    wrote(id, 28'000 + 1000 * i);
    EXPECT_TRUE(decide().empty()) << "near enough";
  }
}

TEST_F(Paced, OnlyWhoOptedIn) {
  const JobId id = paced(0, 1800, false);
  wrote(id, 30'000);
  EXPECT_FALSE(pace_due(t.s));
  EXPECT_TRUE(decide().empty());
}

TEST_F(Paced, NotTwiceWhileItIsBeingTold) {
  const JobId id = paced(0);
  ASSERT_EQ(decide(false).size(), 1U);
  wrote(id, 30'000);
  EXPECT_TRUE(decide(false).empty());
}

TEST_F(Paced, JobsThatStartTogetherWriteApart) {
  std::vector<JobId> ids;
  for (std::uint32_t i = 0; i < 8; ++i) ids.push_back(paced(4 * i));
  const auto told = decide();
  ASSERT_EQ(told.size(), 8U);
  for (std::size_t a = 0; a < told.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) EXPECT_GE(std::abs((told[a].next - told[b].next).seconds()), 100) << a << " " << b;
  }
}

TEST_F(Paced, WhatIsWrittenBesideTheStepsKeepsTheStoreBusyToo) {
  const JobId id = paced(0);
  EXPECT_EQ(store_s(t.s.jobs.at(id)), 30) << "a guess, while nothing is known";
  const auto told = decide();
  ASSERT_EQ(told.size(), 1U);
  t.pass((told[0].next - t.now().utc) + seconds(100));
  wrote(id, 2000);  // steps stood still for two seconds, and it was safe after a hundred
  EXPECT_NEAR(store_s(t.s.jobs.at(id)), 100, 1e-6);
  t.pass(seconds(1920) + minutes(20));
  wrote(id, 2000);
  EXPECT_NEAR(store_s(t.s.jobs.at(id)), 2, 1e-6) << "one that came at another time says nothing of how long it took";
}

TEST_F(Paced, NothingWhilePaused) {
  const JobId id = paced(0);
  t.command(CommandVerb::pause, "c-1");
  wrote(id, 30'000);
  EXPECT_TRUE(decide().empty());
}

TEST(Advice, IsYoungAndDalysOfWhatWasMeasured) {
  Story t(8);
  const JobId id = t.running({NodeId{0}, NodeId{1}});
  EXPECT_FALSE(checkpoint_view(t.s, t.s.jobs.at(id), failure_rate(t.s))) << "nobody said how long one takes";
  t.pass(hours(1));
  t.tell(JobProgressed{id, 1, {200, 200, 60'000, 90'000, 0, 3}});
  const auto v = checkpoint_view(t.s, t.s.jobs.at(id), failure_rate(t.s));
  ASSERT_TRUE(v);
  EXPECT_EQ(v->measured, 3U);
  EXPECT_EQ(v->stall_s, 30);
  EXPECT_EQ(v->every_s, 1800);
  EXPECT_EQ(v->recover_s, 100);
  EXPECT_NEAR(v->failures_per_h, 2 * kPublishedPerNodeH, 1e-6);
  const predict::CheckpointAsk ask{v->failures_per_h / 3600, 30, 100, 0};
  EXPECT_EQ(v->advised_s, predict::young_daly(ask).interval_s);
  EXPECT_EQ(v->useful, predict::useful_share(ask, 1800));
  EXPECT_GT(v->useful_advised, v->useful);
  EXPECT_NEAR(v->gpu_h_a_day, (v->useful_advised - v->useful) * 16 * 24, 1e-9);
}

TEST(Advice, WithoutAWordOnTheIntervalItIsMeasured) {
  Story t(8);
  const JobId id = t.running({NodeId{0}});
  t.s.jobs.at(id).spec.checkpoint_every_s = -1;
  t.pass(seconds(60 + 3 * 630));
  t.tell(JobProgressed{id, 1, {200, 200, 60'000, 90'000, 0, 3}});
  const auto v = checkpoint_view(t.s, t.s.jobs.at(id), failure_rate(t.s));
  ASSERT_TRUE(v);
  EXPECT_NEAR(v->every_s, 600, 1e-6);
}

TEST(Advice, TheRateMovesFromThePublishedOneToTheClustersOwn) {
  Story t(8);
  EXPECT_DOUBLE_EQ(failure_rate(t.s).per_node_h, kPublishedPerNodeH);
  const JobId id = t.running({NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}});
  for (std::uint32_t attempt = 1; attempt <= 40; ++attempt) {  // every 10 hours on 4 nodes
    t.pass(hours(10));
    t.tell(JobEnded{id, attempt, JobEnd::node_failed, {attempt, attempt, 0, 0, 0, 0}, "lost a node"});
    t.tell(JobStarted{id, attempt + 1, {NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}}, {}});
  }
  const FailureRate r = failure_rate(t.s);
  EXPECT_EQ(r.seen, 40U);
  EXPECT_NEAR(r.node_h, 1600, 1);
  EXPECT_GT(r.per_node_h, 5 * kPublishedPerNodeH);
  EXPECT_LT(r.per_node_h, 0.025);
}

}  // namespace
}  // namespace muster::decide
