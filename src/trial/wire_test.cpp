// An engine that cannot be reached, or that swallows orders: what is not known is asked about, and nothing is sent twice.
#include <gtest/gtest.h>

#include "trial/checker.h"
#include "trial/controlled.h"

namespace muster::trial {
namespace {

twin::Config calm_cluster() {
  twin::Config c = stormy(1, 0);
  c.workload.mix.clear();
  c.weather.rates.clear();
  return c;
}

std::size_t orders_of(const Controlled& c, Verb v) {
  std::size_t n = 0;
  for (const Event& e : c.journal.events) {
    const auto* o = std::get_if<OrderIntended>(&e.body);
    n += o != nullptr && o->order.action.verb == v ? 1 : 0;
  }
  return n;
}

TEST(Wire, AnOrderThatWasSwallowedIsAskedAboutAndGivenAnewUnderAnotherKey) {
  Controlled c(calm_cluster());
  c.run(minutes(2));
  ASSERT_TRUE(c.twin.inject(twin::FaultKind::gpu_off_bus, NodeId{3}, 2));
  c.wire.loses = 1;
  c.run(minutes(1));
  ASSERT_EQ(orders_of(c, Verb::drain_node), 1U);
  EXPECT_EQ(c.loop->state().open_orders.size(), 1U);
  c.wire.loses = 0;
  c.run(minutes(10));  // nothing else happens in this cluster: the question must come by itself
  EXPECT_GE(c.wire.inquiries, 1U);
  EXPECT_EQ(orders_of(c, Verb::drain_node), 2U);
  EXPECT_EQ(c.wire.sent_twice, 0U);
  EXPECT_EQ(c.loop->state().nodes[3].hold, Hold::muster);
}

TEST(Wire, AnOrderThatCouldNotBeSentIsSurelyNotDone) {
  Controlled c(calm_cluster());
  c.run(minutes(2));
  ASSERT_TRUE(c.twin.inject(twin::FaultKind::gpu_off_bus, NodeId{3}, 2));
  c.wire.refuses = 1;
  c.run(minutes(5));
  EXPECT_TRUE(c.loop->state().open_orders.empty());
  EXPECT_GE(orders_of(c, Verb::drain_node), 2U) << "tried again after a while";
  EXPECT_LE(orders_of(c, Verb::drain_node), 8U) << "but not in a hurry";
  c.wire.refuses = 0;
  EXPECT_TRUE(c.heals(days(3)));
  EXPECT_EQ(c.wire.sent_twice, 0U);
}

TEST(Wire, OnABadLineEverythingHealsAndNothingIsSentTwice) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Controlled c(stormy(seed), roomy_policy());
    c.wire.loses = 0.1;
    c.wire.refuses = 0.1;
    c.run(hours(12));
    EXPECT_GT(c.wire.lost, 5U);
    EXPECT_GT(c.wire.refused, 5U);
    EXPECT_TRUE(c.heals(days(8))) << "seed " << seed << "\n" << c.ailing();
    EXPECT_EQ(c.wire.sent_twice, 0U);
    EXPECT_EQ(c.twin.counters().duplicate_orders, 0U);
  }
}

}  // namespace
}  // namespace muster::trial
