// When a job on a failing node is moved.
#include "decide/choose.h"

#include <gtest/gtest.h>

namespace muster::decide {
namespace {

Stakes slow_gang() {
  Stakes k;
  k.gpus = 64;
  k.age_s = 600;
  k.interval_s = 1800;
  k.next_checkpoint_s = 1200;
  k.remaining_s = 86'400;
  k.restart_s = 180;
  k.slow = 0.3;
  k.spare = true;
  return k;
}

double cost(const Weighed& w, std::string_view what) {
  for (const Option& o : w.options) {
    if (o.what.find(what) != std::string::npos) return o.cost_gpu_h;
  }
  return -2;
}

TEST(Choose, ALongSlowRunIsMovedAtItsNextCheckpoint) {
  const Weighed w = weigh(slow_gang());
  EXPECT_EQ(w.when, When::at_checkpoint);
  EXPECT_LT(cost(w, "next checkpoint"), cost(w, "now"));
  EXPECT_LT(cost(w, "now"), cost(w, "end"));
  EXPECT_EQ(w.options.front().what, "move it at its next checkpoint") << "the chosen one first";
}

TEST(Choose, CostsAreWhatTheyAre) {
  Stakes k = slow_gang();
  const Weighed w = weigh(k);
  EXPECT_NEAR(cost(w, "now"), 64 * (600 + 180) / 3600.0, 1e-9);
  EXPECT_NEAR(cost(w, "next checkpoint"), 64 * (1200 / 0.7 * 0.3 + 180) / 3600.0, 1e-9);
  EXPECT_NEAR(cost(w, "end"), 64 * (86'400 / 0.7 * 0.3) / 3600.0, 1e-6);
}

TEST(Choose, OneThatIsNearlyDoneGoesOn) {
  Stakes k = slow_gang();
  k.remaining_s = 120;
  EXPECT_EQ(weigh(k).when, When::at_end);
}

TEST(Choose, AFreshCheckpointMeansNow) {
  Stakes k = slow_gang();
  k.age_s = 5;
  k.next_checkpoint_s = 1795;
  EXPECT_EQ(weigh(k).when, When::now);
}

TEST(Choose, WithoutASpareALittleSlownessIsBorne) {
  Stakes k = slow_gang();
  k.slow = 0.02;
  k.spare = false;
  k.nodes_back_s = repair_s(Verb::replace_node);
  k.remaining_s = 4 * 3600;
  EXPECT_EQ(weigh(k).when, When::at_end);
  k.spare = true;
  EXPECT_EQ(weigh(k).when, When::at_checkpoint);
}

TEST(Choose, AFaultThatIsLikelyToEndItIsNotWaitedOut) {
  Stakes k = slow_gang();
  k.slow = 0;
  k.fails_per_h = 0;
  EXPECT_EQ(weigh(k).when, When::at_end) << "it harms nobody";
  k.fails_per_h = 0.2;
  EXPECT_EQ(weigh(k).when, When::at_checkpoint);
}

TEST(Choose, AGangThatHangsIsMovedAtOnceAndSaysWhatWaitingWouldCost) {
  Stakes k = slow_gang();
  k.slow = 1;
  k.timeout_s = 600;
  const Weighed w = weigh(k);
  EXPECT_EQ(w.when, When::now);
  EXPECT_NEAR(cost(w, "time-out") - cost(w, "now"), 64 * 600 / 3600.0, 1e-9);
  EXPECT_EQ(cost(w, "next checkpoint"), -1) << "it will write none";
}

TEST(Choose, WhoseOwnerForbidsItIsNeverMoved) {
  Stakes k = slow_gang();
  k.may_stop = false;
  const Weighed w = weigh(k);
  EXPECT_EQ(w.when, When::at_end);
  EXPECT_EQ(w.options[1].cost_gpu_h, -1);
}

TEST(Choose, AnUnknownCheckpointIsSaid) {
  Stakes k = slow_gang();
  k.age_known = false;
  k.next_checkpoint_s = -1;
  const Weighed w = weigh(k);
  EXPECT_NE(w.when, When::at_checkpoint);
  for (const Option& o : w.options) {
    if (o.what.find("now") == std::string::npos) continue;
    EXPECT_NE(o.why.find("an unknown time"), std::string::npos) << o.why;
  }
}

TEST(Choose, FewerNodesAtOnceAreWeighedAgainstAllOfThemLater) {
  Stakes k = slow_gang();
  k.spare = false;
  k.slow = 1;  // it hangs
  k.timeout_s = 600;
  k.nodes_back_s = 3600;
  k.smaller = 0.75;
  const Weighed w = weigh(k);
  EXPECT_TRUE(w.smaller);
  EXPECT_EQ(w.options.front().what, "restart it smaller now");
  EXPECT_NEAR(cost(w, "smaller"), 64 * (600 + 180 + 0.25 * 3600 + 180) / 3600.0, 1e-9);
  EXPECT_NEAR(cost(w, "stop it now"), 64 * (600 + 180 + 3600) / 3600.0, 1e-9);
  k.nodes_back_s = 120;
  EXPECT_FALSE(weigh(k).smaller) << "the nodes are back before it could start";
  k.nodes_back_s = 3600;
  k.remaining_s = 300;
  EXPECT_NEAR(cost(weigh(k), "smaller"), 64 * (600 + 180 + 0.25 * 400) / 3600.0, 1e-9) << "it ends before they are back";
  k.spare = true;
  EXPECT_FALSE(weigh(k).smaller);
}

}  // namespace
}  // namespace muster::decide
