// What strikes many nodes at once, as a controller meets it.
#include <gtest/gtest.h>

#include <set>

#include "twin/first_fit.h"

namespace muster::twin {
namespace {

class Disaster : public ::testing::Test {
 protected:
  static Config quiet() {
    Config c = plain_config(64);
    c.workload.mix.clear();
    return c;
  }
  // Everything that comes in meanwhile.
  Inbox pass(Duration d) {
    Inbox all;
    const Time end = twin.now().steady + d;
    while (twin.now().steady < end) {
      twin.wait(end);
      twin.poll(all);
    }
    return all;
  }
  static std::set<NodeId> silent(const Inbox& in) {
    std::set<NodeId> out;
    for (const Sample& m : in.samples) {
      if (m.field == Field::up && m.value == 0) out.insert(m.node);
    }
    return out;
  }
  Twin twin{quiet()};
};

TEST_F(Disaster, APduTakesItsRackAndGivesItBackBooted) {
  pass(minutes(5));
  ASSERT_TRUE(twin.inject({.kind = FaultKind::pdu_loss, .node = NodeId{20}, .lasts = hours(1)}));
  EXPECT_FALSE(twin.inject({.kind = FaultKind::pdu_loss, .node = NodeId{17}})) << "the same rack";
  const std::set<NodeId> dark = silent(pass(minutes(50)));
  EXPECT_EQ(dark.size(), 16U);
  EXPECT_EQ(*dark.begin(), NodeId{16});
  pass(minutes(22));
  EXPECT_TRUE(silent(pass(minutes(5))).empty());
  EXPECT_NE(twin.faults().front().fate, Fate::active);
}

TEST_F(Disaster, ASwitchTakesEveryLinkOfItsLeaf) {
  pass(minutes(5));
  ASSERT_TRUE(twin.inject({.kind = FaultKind::switch_failure, .node = NodeId{20}, .lasts = hours(1)}));
  std::size_t down = 0, up = 0;
  for (const KernelRecord& r : pass(minutes(30)).kernel) down += r.kind == KernelKind::link_down && r.node.v / 16 == 1 ? 1 : 0;
  EXPECT_EQ(down, 128U);
  for (const KernelRecord& r : pass(minutes(40)).kernel) up += r.kind == KernelKind::link_up ? 1 : 0;
  EXPECT_EQ(up, 128U);
}

TEST_F(Disaster, ABadPushShowsAsAVersionAndThenAsHangsAndIsRolledBack) {
  pass(minutes(5));
  ASSERT_TRUE(twin.inject({.kind = FaultKind::bad_push, .lasts = hours(2), .share = 0.25}));
  std::set<NodeId> pushed, hung;
  const Inbox in = pass(minutes(60));
  for (const Sample& m : in.samples) {
    if (m.field == Field::driver_version && m.value == version_number(580, 181, 7)) pushed.insert(m.node);
  }
  for (const KernelRecord& r : in.kernel) {
    if (r.code == 119) hung.insert(r.node);
  }
  EXPECT_EQ(pushed.size(), 16U);
  EXPECT_EQ(hung, pushed);
  pass(minutes(90));
  for (const FaultTruth& f : twin.faults()) EXPECT_NE(f.fate, Fate::active) << name_of(f.kind);
}

TEST_F(Disaster, AnEngineThatIsAwayTakesNothingAndTellsAllWhenItIsBack) {
  pass(minutes(5));
  ASSERT_TRUE(twin.inject({.kind = FaultKind::engine_away, .lasts = hours(1)}));
  ASSERT_TRUE(twin.inject(FaultKind::node_hang, NodeId{3}, -1));
  Order o;
  o.key = "x";
  o.action.verb = Verb::drain_node;
  o.action.node = NodeId{1};
  const auto r = twin.submit(o);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::unreachable);
  const Inbox during = pass(minutes(50));
  EXPECT_TRUE(during.events.empty());
  EXPECT_EQ(silent(during).size(), 1U) << "exporters and kernels go on";
  EXPECT_FALSE(pass(minutes(20)).events.empty());
  EXPECT_TRUE(twin.submit(o));
}

TEST_F(Disaster, OnlyTheControllersWallClockJumps) {
  const Now before = twin.now();
  ASSERT_TRUE(twin.inject({.kind = FaultKind::clock_jump, .lasts = hours(1), .by = days(1)}));
  EXPECT_EQ((twin.now().utc - before.utc).ns, days(1).ns);
  EXPECT_EQ(twin.now().steady, before.steady);
  pass(minutes(61));
  EXPECT_EQ((twin.now().utc - before.utc).ns, (twin.now().steady - before.steady).ns);
}

TEST_F(Disaster, AStormIsAsManyLinksAsAskedFor) {
  pass(minutes(5));
  ASSERT_TRUE(twin.inject({.kind = FaultKind::event_storm, .lasts = minutes(2), .count = 500}));
  std::size_t down = 0, up = 0;
  for (const KernelRecord& r : pass(minutes(5)).kernel) {
    down += r.kind == KernelKind::link_down ? 1 : 0;
    up += r.kind == KernelKind::link_up ? 1 : 0;
  }
  EXPECT_EQ(down, 500U);
  EXPECT_EQ(up, 500U);
}

}  // namespace
}  // namespace muster::twin
