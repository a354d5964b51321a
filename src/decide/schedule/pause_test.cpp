#include "decide/schedule/pause.h"

#include <gtest/gtest.h>

#include "decide/schedule/schedule_fixture.h"

namespace muster::decide {
namespace {

// One cluster full of jobs that have run for a day and have just made a checkpoint.
class Full {
 public:
  Full(std::uint32_t nodes, std::vector<std::uint32_t> gpus) : tree(small_layout(nodes, 8, nodes)) {
    choices.reserve(gpus.size());
    for (std::uint32_t i = 0; i < gpus.size(); ++i) {
      Shape s;
      s.pieces = gpus[i] > 8 ? gpus[i] / 8 : 1;
      s.gpus = std::min(gpus[i], 8U);
      auto c = tree.find(s);
      EXPECT_TRUE(c);
      tree.take(*c);
      choices.push_back(*c);
      Pausable p;
      p.id = JobId{100 + i, 0};
      p.ran = p.ran_since = hours(24);
      p.lost = seconds(30);
      p.gpus = gpus[i];
      p.where = &choices.back();
      running.push_back(p);
    }
  }
  Pauses choose(const std::vector<Waiter>& w, double now_s, const PausePolicy& policy = {}) {
    const std::size_t mark = tree.mark();
    auto out = choose_pauses(tree, w, rank(w, at_s(now_s), {}), running, at_s(now_s), policy);
    tree.rollback(mark);
    return out;
  }
  Tree tree;
  std::vector<Choice> choices;
  std::vector<Pausable> running;
};

TEST(Pause, AShortJobThatHasWaitedIsLetThroughByTheOneThatRanLongest) {
  Full c(1, {4, 4});
  c.running[1].ran = hours(30);
  EXPECT_TRUE(c.choose({waiter(1, 1, 1, 600)}, 50).pauses.empty());  // ten minutes of work: after 100 s
  const Pauses p = c.choose({waiter(1, 1, 1, 600)}, 100);
  ASSERT_EQ(p.pauses.size(), 1U);
  EXPECT_EQ(p.pauses[0].id.number, 101U);
  EXPECT_EQ(p.pauses[0].length, hours(1));
  ASSERT_EQ(p.starts.size(), 1U);
}

TEST(Pause, WhatOnePauseFreesServesSeveral) {
  Full c(1, {8});
  std::vector<Waiter> w;
  for (std::uint32_t i = 1; i <= 12; ++i) w.push_back(waiter(i, 1, 1, 60));
  const Pauses p = c.choose(w, 100);
  EXPECT_EQ(p.pauses.size(), 1U);
  EXPECT_EQ(p.starts.size(), 8U);
}

TEST(Pause, NobodyIsPausedWhoHasLittleBehindItOrMuchToLose) {
  Full c(1, {8});
  c.running[0].ran = hours(3);
  EXPECT_TRUE(c.choose({waiter(1, 1, 1, 60)}, 100).pauses.empty());
  c.running[0].ran = hours(24);
  c.running[0].lost = minutes(40);
  EXPECT_TRUE(c.choose({waiter(1, 1, 1, 60)}, 100).pauses.empty());
  c.running[0].lost = seconds(1);
  c.running[0].priority = 1;
  EXPECT_TRUE(c.choose({waiter(1, 1, 1, 60)}, 100).pauses.empty());
}

TEST(Pause, ALongJobWaitsUnlessItsTurnIsDue) {
  Full c(1, {8});
  const std::vector<Waiter> w = {waiter(1, 1, 1, 5 * 86400)};
  EXPECT_TRUE(c.choose(w, 4000).pauses.empty());
  EXPECT_EQ(c.choose(w, 9 * 3600).pauses.size(), 1U);
}

TEST(Pause, AllPausesOfAJobTogetherAreBounded) {
  Full c(1, {8});
  c.running[0].paused_before = minutes(100);
  EXPECT_TRUE(c.choose({waiter(1, 1, 1, 60)}, 100).pauses.empty());
  c.running[0].paused_before = minutes(60);
  c.running[0].ran_since = hours(5);
  const Pauses p = c.choose({waiter(1, 1, 1, 60)}, 100);
  ASSERT_EQ(p.pauses.size(), 1U);
  EXPECT_EQ(p.pauses[0].length, minutes(60));
  c.running[0].ran_since = hours(1);  // it has only just come back
  EXPECT_TRUE(c.choose({waiter(1, 1, 1, 60)}, 100).pauses.empty());
}

TEST(Pause, AGangTakesAsFewAsItNeeds) {
  Full c(2, {4, 4, 4, 4});
  std::vector<Waiter> w = {waiter(1, 1, 8, 600)};
  const Pauses p = c.choose(w, 100);
  EXPECT_EQ(p.pauses.size(), 2U);
  ASSERT_EQ(p.starts.size(), 1U);
  EXPECT_EQ(p.starts[0].choice.nodes.size(), 1U);
}

TEST(Pause, ReservedGpusAreLeftAlone) {
  Full c(2, {8});
  Reservation r;
  r.choice = *c.tree.find(waiter(9, 1, 8, 1).shape);
  c.running[0].ran = hours(1);  // nobody to pause; and no pause is needed for free GPUs that are reserved
  c.running.push_back(c.running[0]);
  c.running.back().ran = hours(24);
  c.running.back().lost = hours(1);
  const std::vector<Waiter> w = {waiter(1, 1, 1, 60)};
  EXPECT_EQ(choose_pauses(c.tree, w, rank(w, at_s(100), {}), c.running, at_s(100), {}, {&r, 1}).starts.size(), 0U);
}

}  // namespace
}  // namespace muster::decide
