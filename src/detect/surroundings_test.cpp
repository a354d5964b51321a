#include "detect/surroundings.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

class OfMusterItself : public ::testing::Test {
 protected:
  void lose_orders(int n) {
    for (int i = 0; i < n; ++i) {
      w.event(OrderEnded{"j-" + std::to_string(++keys), Status::not_received, "no answer"});
      w.everybody_reports();
      w.look(seconds(40));
    }
  }
  Watch w{8};
  int keys = 0;
};

TEST_F(OfMusterItself, AnEngineThatGetsNoOrdersAndSaysNothingIsAway) {
  lose_orders(2);
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
  lose_orders(1);
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject, kEngineSubject);
  EXPECT_TRUE(w.t.s.engine_away.some());
  w.event(NodeChanged{kN0, NodeCondition::up, {}});
  w.look();
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
  EXPECT_FALSE(w.t.s.engine_away.some());
}

TEST_F(OfMusterItself, AnEngineThatSpeaksMeanwhileIsThere) {
  lose_orders(2);
  w.event(NodeChanged{kN0, NodeCondition::up, {}});
  w.look();
  lose_orders(1);
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(OfMusterItself, AClockThatIsSetIsToldAndTakenAsRightAfterAnHour) {
  w.t.set_clock(days(1));
  w.look();
  w.look();
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject, kClockSubject);
  EXPECT_EQ(f->evidence.front().text, "it was set forward by 1d 00h");
  for (int i = 0; i < 61; ++i) {
    w.everybody_reports();
    w.look(minutes(1));
  }
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

}  // namespace
}  // namespace muster::detect
