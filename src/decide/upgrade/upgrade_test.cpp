// A rolling upgrade, step by step: each test tells what happened and sees what is wanted next.
#include "decide/upgrade/upgrade.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "decide/upgrade/harm.h"
#include "model/story.h"

namespace muster::decide {
namespace {

class Rolling : public ::testing::Test {
 protected:
  explicit Rolling(std::uint32_t nodes = 8) : t(nodes) {
    t.s.policy.limits.out_rack_pct = t.s.policy.limits.out_cluster_pct = 100;
    t.s.policy.limits.harm_per_hour_pct = 1000;
    settle(t.s);
  }
  void begin(UpgradeSpec spec = {}) {
    if (spec.canaries == 0) spec.canaries = 1;
    begin_as_is(std::move(spec));
  }
  void begin_as_is(UpgradeSpec spec) {
    CommandGiven c;
    c.verb = CommandVerb::upgrade;
    c.actor = "ada";
    c.id = "u1";
    c.upgrade = std::move(spec);
    c.upgrade.version = "590";
    c.upgrade.before = "580";
    t.tell(c);
  }
  // Decides until nothing changes, as a turn does. What is wanted becomes an order.
  std::vector<std::string> decide() {
    std::vector<std::string> said;
    for (int pass = 0; pass < 30; ++pass) {
      Decisions out;
      ClusterView view;
      view.update(t.s);
      decide_upgrade(t.s, view, out);
      settle(t.s);
      if (out.empty()) return said;
      for (Decision& d : out) {
        if (auto* b = std::get_if<Body>(&d)) {
          t.tell(std::move(*b));
          continue;
        }
        const auto& w = std::get<Wanted>(d);
        EXPECT_FALSE(w.reason.sentence.empty());
        EXPECT_EQ(w.reason.upgrade, t.s.upgrade.id);
        Order o;
        o.key = "j-" + std::to_string(t.s.totals.orders + 1);
        o.action = w.action;
        o.reason = w.reason;
        open.push_back(o.key);
        t.tell(OrderIntended{o, {}});
        said.push_back(std::string(name_of(w.action.verb)) +
                       (on_node(w.action.verb) ? " " + std::to_string(w.action.node.v) : " job " + render(w.action.job)));
      }
    }
    ADD_FAILURE() << "decisions feed on each other";
    return said;
  }
  // All orders under way end so; what is wanted then.
  std::vector<std::string> then(Status status = Status::done, const std::string& detail = {}, double score = 0) {
    t.pass(minutes(5));
    for (const std::string& key : std::exchange(open, {})) t.tell(OrderEnded{key, status, detail, score});
    return decide();
  }
  std::vector<std::string> later(Duration d) {
    t.pass(d);
    return decide();
  }
  TurnStage stage(std::uint32_t n) const { return t.s.upgrade.turns.at(NodeId{n}).stage; }

  using V = std::vector<std::string>;
  Story t;
  std::vector<std::string> open;
};

TEST_F(Rolling, ACanaryIsDrainedInstalledTestedReturnedAndWatchedBeforeTheRest) {
  begin();
  EXPECT_EQ(decide(), V{"drain_node 0"});
  EXPECT_EQ(then(), V{"install 0"});
  EXPECT_EQ(t.s.orders.rbegin()->second.order.action.version, "driver 590");
  EXPECT_EQ(then(), V{"test_node 0"});
  EXPECT_EQ(then(), V{"undrain_node 0"});
  EXPECT_EQ(then(), V{});
  EXPECT_EQ(stage(0), TurnStage::watched);
  EXPECT_EQ(later(minutes(50)), V{}) << "nobody follows before the canary has worked for an hour";
  EXPECT_EQ(later(minutes(10)), V{"drain_node 1"}) << "one at a time, where five percent of eight are none";
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::waves);
}

TEST_F(Rolling, ItEndsWhenEveryNodeHasItAndNodesThatHadItAlreadyAreLeftAlone) {
  t.tell(NodeDescribed{NodeId{5}, {{"driver_version", "590"}}});
  UpgradeSpec spec;
  spec.watch = minutes(1);
  spec.at_once_pct = 100;
  begin(spec);
  decide();
  for (int k = 0; k < 40 && at_work(t.s.upgrade.phase); ++k) then();
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::done);
  EXPECT_EQ(t.s.upgrade.turns.size(), 7U);
  EXPECT_EQ(t.s.upgrade.turns.count(NodeId{5}), 0U);
  EXPECT_TRUE(t.s.out_nodes.empty());
}

TEST_F(Rolling, AVersionThatFailsItsTestOnTheCanariesIsTakenBack) {
  UpgradeSpec spec;
  spec.canaries = 2;
  spec.at_once_pct = 50;
  begin(spec);
  EXPECT_EQ(decide(), (V{"drain_node 0", "drain_node 4"})) << "from different leaves";
  then();
  EXPECT_EQ(then(), (V{"test_node 0", "test_node 4"}));
  EXPECT_EQ(then(Status::failed, "GPU 3 does not answer"), (V{"install 0", "install 4"}));
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::rolling_back);
  EXPECT_NE(t.s.upgrade.why.find("2 of 2 canaries went bad"), std::string::npos) << t.s.upgrade.why;
  EXPECT_EQ(t.s.orders.rbegin()->second.order.action.version, "driver 580");
  EXPECT_EQ(then(), (V{"test_node 0", "test_node 4"}));
  EXPECT_EQ(then(), (V{"undrain_node 0", "undrain_node 4"}));
  then();
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::rolled_back);
  EXPECT_TRUE(t.s.out_nodes.empty());
}

TEST_F(Rolling, AFaultOfTheGpuSoonAfterIsBadAndOneOfACableIsNot) {
  UpgradeSpec spec;
  spec.canaries = 3;
  spec.at_once_pct = 50;
  begin(spec);
  decide();
  then(), then(), then(), then();
  ASSERT_EQ(stage(0), TurnStage::watched);
  const FindingId cable = t.find(FindingKind::link_down, NodeId{0}, 1);
  t.tell(IncidentOpened{IncidentId{1}, cable});
  decide();
  EXPECT_EQ(stage(0), TurnStage::watched);
  const FindingId gpu = t.find(FindingKind::gsp_timeout, NodeId{1}, 1);
  t.tell(IncidentOpened{IncidentId{2}, gpu});
  decide();
  EXPECT_EQ(stage(1), TurnStage::bad);
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::canary) << "one of three may be chance";
  t.tell(IncidentOpened{IncidentId{3}, t.find(FindingKind::gsp_timeout, NodeId{4}, 1)});
  decide();
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::rolling_back);
}

TEST_F(Rolling, WorkIsLeftAloneUntilItsCheckpointAndForbiddenWorkAlways) {
  for (std::uint32_t n = 0; n < 8; ++n) t.running({NodeId{n}});
  Job& forbidden = t.s.jobs.begin()->second;
  forbidden.spec.no_requeue = true;
  begin();
  EXPECT_EQ(decide(), V{}) << "no node is idle";
  EXPECT_EQ(later(minutes(20)), V{});
  t.s.checkpointed.insert(forbidden.id);
  EXPECT_EQ(later(minutes(20)), V{}) << "its owner forbids it";
  const JobId other = std::next(t.s.jobs.begin())->first;
  EXPECT_EQ(later(minutes(1)), V{});
  t.s.checkpointed.insert(other);
  EXPECT_EQ(decide(), (V{"drain_node 1", "requeue_job job " + render(other)})) << "a canary is wanted, and nothing is idle";
}

TEST_F(Rolling, APersonsNodeIsSkippedAndAStopBringsWhatIsUnderWayToItsEnd) {
  t.s.nodes[3].hold = Hold::person;
  UpgradeSpec spec;
  spec.watch = minutes(1);
  begin(spec);
  EXPECT_EQ(decide(), V{"drain_node 0"});
  EXPECT_EQ(then(), V{"install 0"});
  CommandGiven c;
  c.verb = CommandVerb::upgrade_stop;
  c.actor = "ada";
  c.id = "u2";
  t.tell(c);
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(then(), V{"test_node 0"});
  EXPECT_EQ(then(), V{"undrain_node 0"});
  EXPECT_EQ(then(), V{});
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::stopped);
  EXPECT_EQ(t.s.upgrade.turns.size(), 1U);
}

TEST_F(Rolling, ACanaryThatAPersonTakesProvesNothing) {
  begin();
  EXPECT_EQ(decide(), V{"drain_node 0"});
  then();
  t.s.nodes[0].hold = Hold::person;
  EXPECT_EQ(then(), V{"drain_node 1"}) << "another one takes its place";
  EXPECT_EQ(stage(0), TurnStage::skipped);
  EXPECT_EQ(later(hours(3)), V{});
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::canary);
}

TEST_F(Rolling, OnlyTheNodesAskedForHaveATurnAlsoUnderGangs) {
  const JobId gang = t.running({NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}});
  UpgradeSpec spec;
  spec.nodes = t.s.site.nodes[1].name;
  spec.watch = minutes(1);
  begin(spec);
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(later(hours(1)), V{});
  t.s.checkpointed.insert(gang);
  decide();
  for (int k = 0; k < 12; ++k) then();
  for (const auto& [n, turn] : t.s.upgrade.turns) EXPECT_EQ(n, NodeId{1});
}

TEST_F(Rolling, NobodyIsStoppedWhereTheLimitsLetNoNodeGo) {
  for (std::uint32_t n = 0; n < 8; ++n) t.running({NodeId{n}});
  t.s.policy.limits.out_cluster_pct = 0;
  t.s.policy.limits.out_cluster_floor = 1;
  t.s.nodes[7].hold = Hold::muster;
  t.s.out_nodes.insert(NodeId{7});
  begin();
  later(hours(2));
  for (const auto& [id, j] : t.s.jobs) t.s.checkpointed.insert(id);
  EXPECT_EQ(decide(), V{});
}

TEST_F(Rolling, ARollBackCanBeStopped) {
  begin();
  decide();
  then();
  for (const CommandVerb verb : {CommandVerb::upgrade_back, CommandVerb::upgrade_stop}) {
    CommandGiven c;
    c.verb = verb;
    c.actor = "ada";
    c.id = std::string(name_of(verb));
    t.tell(c);
  }
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::stopping);
}

TEST_F(Rolling, AnOrderThatWasNotReceivedIsGivenAgainAndARefusedDrainWaits) {
  begin();
  decide();
  EXPECT_EQ(then(Status::not_received), V{});
  EXPECT_EQ(later(minutes(6)), V{"drain_node 0"});
  then();
  EXPECT_EQ(then(Status::refused, "busy"), V{});
  EXPECT_EQ(later(minutes(2)), V{"install 0"});
}

TEST_F(Rolling, WhoeverWaitsForJobsStopsNoneAndTakesNodesAsTheyComeFree) {
  const JobId gang = t.running({NodeId{0}, NodeId{1}});
  UpgradeSpec spec;
  spec.nodes = t.s.site.nodes[0].name;
  spec.wait_for_jobs = true;
  spec.finish_in = hours(2);
  begin(spec);
  for (int k = 0; k < 5; ++k) {
    t.s.checkpointed.insert(gang);
    EXPECT_EQ(later(hours(1)), V{}) << "also when it is late, and just after a checkpoint";
  }
  t.tell(JobEnded{gang, 1, JobEnd::completed, {}, {}, {}});
  EXPECT_EQ(decide(), V{"drain_node 0"});
}

TEST_F(Rolling, AMeasuredNodeIsTestedBeforeAndAfterAndBothScoresAreKept) {
  UpgradeSpec spec;
  spec.measured = true;
  begin(spec);
  EXPECT_EQ(decide(), V{"drain_node 0"});
  EXPECT_EQ(then(), V{"test_node 0"});
  EXPECT_EQ(stage(0), TurnStage::measuring);
  EXPECT_EQ(then(Status::done, {}, 1000), V{"install 0"});
  EXPECT_EQ(then(), V{"test_node 0"});
  EXPECT_EQ(stage(0), TurnStage::testing);
  EXPECT_EQ(then(Status::done, {}, 990), V{"undrain_node 0"});
  EXPECT_EQ(t.s.upgrade.turns.at(NodeId{0}).score_before, 1000);
  EXPECT_EQ(t.s.upgrade.turns.at(NodeId{0}).score_after, 990);
}

TEST_F(Rolling, ANodeThatIsNotSoundBeforeIsNotTheVersionsFault) {
  UpgradeSpec spec;
  spec.measured = true;
  begin(spec);
  decide();
  then();
  then(Status::failed, "GPU 3: memory test failed");
  EXPECT_EQ(stage(0), TurnStage::bad);
  EXPECT_FALSE(t.s.upgrade.turns.at(NodeId{0}).installed);
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::canary);
}

TEST_F(Rolling, PartsComeInOneTurnInTheirOrderAndGoBackInReverse) {
  UpgradeSpec spec;
  spec.parts = {{"firmware", "25.06.4", "25.03.1"}, {"driver", "590", "580"}, {"fabricmanager", "590", "580"}};
  begin(spec);
  decide();
  EXPECT_EQ(then(), V{"install 0"});
  EXPECT_EQ(t.s.orders.rbegin()->second.order.action.version, "firmware 25.06.4, driver 590, fabricmanager 590");
  EXPECT_EQ(then(Status::failed, "it does not come up"), V{"install 0"});
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::rolling_back);
  EXPECT_EQ(t.s.orders.rbegin()->second.order.action.version, "fabricmanager 580, driver 580, firmware 25.03.1");
}

TEST_F(Rolling, TheNamedCanariesGoFirstAndAllOfThemAreWaitedFor) {
  const JobId job = t.running({NodeId{6}});
  UpgradeSpec spec;
  spec.canary_nodes = t.s.site.nodes[5].name + "," + t.s.site.nodes[6].name;
  spec.wait_for_jobs = true;
  spec.watch = minutes(5);
  t.s.upgrade.spec = {};
  begin_as_is(spec);
  EXPECT_EQ(decide(), V{"drain_node 5"});
  for (int k = 0; k < 6; ++k) then();
  EXPECT_EQ(later(hours(3)), V{}) << "the other one is busy";
  EXPECT_EQ(t.s.upgrade.phase, UpgradePhase::canary);
  t.tell(JobEnded{job, 1, JobEnd::completed, {}, {}, {}});
  EXPECT_EQ(decide(), V{"drain_node 6"});
}

TEST_F(Rolling, NodesThatDidNotComeBackCountAgainstThoseThatMayBeAway) {
  UpgradeSpec spec;
  spec.wait_for_jobs = true;
  spec.at_once_pct = 25;
  begin(spec);
  decide();
  t.s.upgrade.phase = UpgradePhase::waves;
  t.s.upgrade.turns[NodeId{0}].stage = TurnStage::bad;
  t.s.nodes[4].condition = NodeCondition::down;
  t.s.nodes[5].condition = NodeCondition::down;
  EXPECT_EQ(later(hours(1)), V{}) << "two of eight may be away, and are";
  t.s.nodes[5].condition = NodeCondition::up;
  t.s.nodes[4].condition = NodeCondition::up;
  t.s.nodes[0].hold = Hold::none;
  EXPECT_EQ(later(hours(1)).size(), 2U);
}

TEST(Sides, WorkThatLastsGoesToNoNodeWhoseTurnIsToComeAndNoGangSpansBothVersions) {
  Story t(8);
  Upgrade& u = t.s.upgrade;
  u.id = 1;
  u.phase = UpgradePhase::waves;
  u.spec.version = "590";
  u.spec.at_once_pct = 25;
  u.spec.wait_for_jobs = true;
  u.spec.apart = "nccl";
  for (std::uint32_t n = 0; n < 3; ++n) {
    u.turns[NodeId{n}].stage = TurnStage::done;
    u.turns[NodeId{n}].installed = true;
  }
  ClusterView view;
  view.update(t.s);
  const auto upgraded = [&](const Choice& c) {
    return std::count_if(c.nodes.begin(), c.nodes.end(), [](NodeId n) { return n.v < 3; });
  };
  Shape shape;
  for (std::uint32_t pieces = 1; pieces <= 5; ++pieces) {
    shape.pieces = pieces;
    const auto c = view.tree().find(shape);
    ASSERT_TRUE(c) << pieces;
    EXPECT_TRUE(upgraded(*c) == 0 || upgraded(*c) == pieces) << pieces;
  }
  shape.pieces = 6;
  EXPECT_FALSE(view.tree().find(shape)) << "it would have to span both";
  EXPECT_TRUE(view.tree().ever_fits(shape));
  shape.pieces = 3;
  const auto lasting = view.tree().find(view.beside_upgrade(shape, days(2)));
  ASSERT_TRUE(lasting);
  EXPECT_EQ(upgraded(*lasting), 3);
  shape.pieces = 4;
  EXPECT_FALSE(view.tree().find(view.beside_upgrade(shape, days(2))));
  EXPECT_TRUE(view.tree().find(view.beside_upgrade(shape, minutes(5))));
}

TEST(Harm, SlowerThanItsOwnBeforeIsHarmAndNoiseIsNot) {
  Upgrade u;
  Prng prng(7, "noise");
  for (const double loss : {0.0, 0.03}) {
    for (std::uint32_t n = 0; n < 20; ++n) {
      Turn& t = u.turns[NodeId{n}];
      t.installed = true;
      t.score_before = 1000 * (1 + 0.02 * prng.normal());
      t.score_after = t.score_before * (1 - loss) * (1 + 0.01 * prng.normal());
    }
    EXPECT_EQ(slower_with_it(u).empty(), loss == 0) << slower_with_it(u);
  }
}

TEST(Harm, TheTailOfAPoissonVariable) {
  EXPECT_NEAR(poisson_tail(1, 1), 0.6321206, 1e-6);
  EXPECT_NEAR(poisson_tail(0.5, 3), 0.0143877, 1e-6);
  EXPECT_EQ(poisson_tail(2, 0), 1);
}

TEST(Harm, InWavesFewFailuresAreChanceAndManyAreNot) {
  Story t(64);
  Upgrade& u = t.s.upgrade;
  u.id = 1;
  u.phase = UpgradePhase::waves;
  t.pass(hours(10));
  for (std::uint32_t n = 0; n < 32; ++n) {
    u.turns[NodeId{n}].stage = TurnStage::done;
    u.turns[NodeId{n}].installed = true;
    u.turns[NodeId{n}].returned = t.s.mono() - hours(2);
  }
  u.turns[NodeId{0}].stage = u.turns[NodeId{1}].stage = TurnStage::bad;
  EXPECT_EQ(verdict(t.s), "");
  u.turns[NodeId{2}].stage = TurnStage::bad;
  EXPECT_NE(verdict(t.s), "");
  u.baseline = 2000;  // a fleet that fails all the time
  EXPECT_EQ(verdict(t.s), "");
}

}  // namespace
}  // namespace muster::decide
