#include "decide/queue.h"

#include <gtest/gtest.h>

#include "decide/decide.h"
#include "model/story.h"

namespace muster::decide {
namespace {

std::vector<Wanted> wanted(const Decisions& d) {
  std::vector<Wanted> out;
  for (const Decision& x : d) {
    if (const auto* w = std::get_if<Wanted>(&x)) out.push_back(*w);
  }
  return out;
}

std::vector<Wanted> queue(const State& s) {
  Placer placer;
  Decisions out;
  decide_queue(s, placer, out);
  return wanted(out);
}

std::vector<Wanted> broken(const State& s) {
  Decisions out;
  decide_broken(s, out);
  return wanted(out);
}

TEST(Queue, JobsStartInTheOrderTheyCame) {
  Story t(8);
  const JobId a = t.submit(3);
  const JobId b = t.submit(3);
  t.submit(3);
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 2U);
  EXPECT_EQ(w[0].action.job, a);
  EXPECT_EQ(w[1].action.job, b);
  EXPECT_EQ(w[0].action.verb, Verb::start_job);
  EXPECT_EQ(w[0].action.attempt, 1U);
  EXPECT_FALSE(w[0].reason.sentence.empty());
}

TEST(Queue, NobodyOvertakesAJobThatWaitsForNodes) {
  Story t(8);
  t.running({NodeId{0}});
  t.submit(8);
  t.submit(1);
  EXPECT_TRUE(queue(t.s).empty());
}

TEST(Queue, AJobTooLargeForTheClusterBlocksNobody) {
  Story t(8);
  const JobId giant = t.submit(9);
  const JobId small = t.submit(8);
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.job, small);
  EXPECT_NE(why_not_started(t.s, giant).find("never"), std::string::npos);
}

TEST(Queue, NothingIsStartedOnNodesThatAreOutOrInTrouble) {
  Story t(4);
  t.tell(NodeChanged{NodeId{0}, NodeCondition::down, {}});
  t.drained(NodeId{1}, {}, "wish");
  t.open(t.find(FindingKind::thermal_throttle, NodeId{2}, 1));
  t.submit(1);
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.nodes, std::vector<NodeId>{NodeId{3}});
}

TEST(Queue, NothingStartsWhilePaused) {
  Story t(4);
  t.submit(1);
  t.command(CommandVerb::pause, "p");
  EXPECT_TRUE(queue(t.s).empty());
  const JobId j = t.submit(1);
  EXPECT_NE(why_not_started(t.s, j).find("paused by ada"), std::string::npos);
}

TEST(Queue, WhyAJobHasNotStartedIsSaidInWords) {
  Story t(4);
  t.running({NodeId{0}});
  const JobId head = t.submit(4, "head");
  const JobId next = t.submit(1, "next");
  EXPECT_NE(why_not_started(t.s, head).find("first in the queue"), std::string::npos);
  EXPECT_NE(why_not_started(t.s, next).find("1 job is before it"), std::string::npos);
  EXPECT_TRUE(why_not_started(t.s, JobId{99, 0}).empty());
}

TEST(Broken, AGangThatLostANodeIsRequeuedToItsCheckpoint) {
  Story t(4);
  const JobId j = t.running({NodeId{0}});
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {100, 80, 0, 0, 0}, "rank lost"});
  const auto w = broken(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::requeue_job);
  EXPECT_EQ(w[0].action.attempt, 1U);
  EXPECT_NE(w[0].reason.sentence.find("20 steps are lost"), std::string::npos) << w[0].reason.sentence;
}

// Fails the job `times` times by its own word; returns what is decided after the last.
Wanted after_own_failures(Story& t, JobId j, std::uint32_t times) {
  for (std::uint32_t a = 1; a <= times; ++a) {
    if (a > 1) t.tell(JobRequeued{j});
    t.tell(JobStarted{j, a, {NodeId{0}}});
    t.tell(JobEnded{j, a, JobEnd::app_failed, {}, "exit code 1"});
  }
  const auto w = broken(t.s);
  EXPECT_EQ(w.size(), 1U);
  return w.at(0);
}

TEST(Broken, AProgramThatFailsThreeTimesByItselfIsGivenUp) {
  Story two(4);
  EXPECT_EQ(after_own_failures(two, two.submit(1), 2).action.verb, Verb::requeue_job);
  Story three(4);
  EXPECT_EQ(after_own_failures(three, three.submit(1), 3).action.verb, Verb::fail_job);
}

TEST(Broken, TroubleOnANodeExcusesTheProgram) {
  Story t(4);
  const JobId j = t.submit(1);
  t.open(t.find(FindingKind::ecc_uncorrectable, NodeId{0}, 1));
  EXPECT_EQ(after_own_failures(t, j, 5).action.verb, Verb::requeue_job);
}

TEST(Broken, APolicyBoundsTheRestarts) {
  Policy p = default_policy();
  p.job_restarts_max = 2;
  Story t(4, p);
  const JobId j = t.submit(1);
  for (std::uint32_t a = 1; a <= 2; ++a) {
    t.tell(JobStarted{j, a, {NodeId{0}}});
    t.tell(JobEnded{j, a, JobEnd::node_failed, {}, {}});
  }
  const auto w = broken(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::fail_job);
}

TEST(Broken, NothingIsDecidedTwiceAndNothingWhilePaused) {
  Story t(4);
  const JobId j = t.running({NodeId{0}});
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {}, {}});
  t.command(CommandVerb::pause, "p");
  EXPECT_TRUE(broken(t.s).empty());
  settle(t.s);
  t.command(CommandVerb::resume, "r");
  EXPECT_EQ(broken(t.s).size(), 1U) << "what was left undone";
  t.order(Verb::requeue_job, {}, {}, {}, j);
  EXPECT_TRUE(broken(t.s).empty());
  refresh(t.s);
  EXPECT_TRUE(broken(t.s).empty()) << "nor by a controller that has just started";
}

TEST(Deciding, TheSameStateGivesTheSameDecisions) {
  Story t(8);
  for (int i = 0; i < 5; ++i) t.submit(2);
  t.find(FindingKind::gpu_lost, NodeId{3}, 1);
  t.command(CommandVerb::drain, "d", NodeId{7});
  Decider a, b;
  const Decisions x = a.decide(t.s);
  const Decisions y = b.decide(t.s);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i].index(), y[i].index());
  const auto wx = wanted(x);
  const auto wy = wanted(y);
  for (std::size_t i = 0; i < wx.size(); ++i) {
    EXPECT_EQ(wx[i].action.nodes, wy[i].action.nodes);
    EXPECT_EQ(wx[i].reason.sentence, wy[i].reason.sentence);
  }
}

}  // namespace
}  // namespace muster::decide
