#include "act/ledger.h"

#include <gtest/gtest.h>

#include "model/story.h"

namespace muster::act {
namespace {

TEST(Ledger, EveryOrderHasAKeyOfItsOwnAndAnExpiry) {
  Story t(4);
  std::set<std::string> keys;
  for (int i = 0; i < 50; ++i) {
    const Order o = make_order(t.s, {Verb::probe_node, NodeId{0}}, {}, "needs none");
    EXPECT_TRUE(keys.insert(o.key).second) << o.key;
    EXPECT_EQ(o.epoch, t.s.epoch);
    EXPECT_GT(o.not_after, t.now().utc);
    t.tell(OrderIntended{o, {}});
    t.ends(o.key);
  }
}

TEST(Ledger, AnOrderIsOverdueOnlyWhenItsOwnTimeHasPassed) {
  for (const Verb v : {Verb::drain_node, Verb::test_node, Verb::reset_gpu, Verb::reboot_node, Verb::replace_node}) {
    Story t(4);
    const std::string key = t.order(v, NodeId{0});
    t.pass(patience(v));
    EXPECT_TRUE(overdue(t.s).empty()) << name_of(v);
    t.pass(seconds(1));
    EXPECT_EQ(overdue(t.s), std::vector<std::string>{key}) << name_of(v);
    t.ends(key);
    EXPECT_TRUE(overdue(t.s).empty()) << name_of(v);
  }
}

TEST(Ledger, SettingTheWallClockMakesNothingOverdue) {
  Story t(4);
  t.order(Verb::drain_node, NodeId{0});
  t.set_clock(days(1));
  t.pass(seconds(10));
  EXPECT_TRUE(overdue(t.s).empty());
}

}  // namespace
}  // namespace muster::act
