#include "predict/congestion.h"

#include <gtest/gtest.h>

namespace muster::predict {
namespace {

IncastAsk ask(std::uint32_t senders) {
  IncastAsk a;
  a.senders = senders;
  return a;
}

TEST(Congestion, OneSenderHasThePort) {
  const auto f = incast(ask(1));
  ASSERT_TRUE(f);
  EXPECT_NEAR(f->last_s / f->ideal_s, 1, 0.01);
  EXPECT_DOUBLE_EQ(f->most_queue_kb, 0);
  EXPECT_DOUBLE_EQ(f->paused, 0);
}

TEST(Congestion, NothingIsFasterThanThePort) {
  for (const std::uint32_t n : {2U, 7U, 32U}) {
    for (const bool on : {true, false}) {
      IncastAsk a = ask(n);
      a.control.on = on;
      const auto f = incast(a);
      ASSERT_TRUE(f);
      EXPECT_GE(f->last_s, f->ideal_s);
      EXPECT_LE(f->first_s, f->last_s);
      EXPECT_GT(f->fairness, 0.5);
      EXPECT_LE(f->fairness, 1 + 1e-9);
    }
  }
}

TEST(Congestion, MarksKeepTheQueueBelowPauses) {
  IncastAsk a = ask(4);
  a.mb = 64;
  const auto with = incast(a);
  a.control.on = false;
  const auto without = incast(a);
  ASSERT_TRUE(with && without);
  EXPECT_LT(with->mean_queue_kb, 0.5 * without->mean_queue_kb);
  EXPECT_LT(with->paused, 0.1 * without->paused) << "and so others behind the same switch are not held up";
  EXPECT_GT(without->paused, 0.5) << "four senders into one port stand still most of the time";
  EXPECT_NEAR(without->last_s / without->ideal_s, 1, 0.02) << "pauses alone keep the port full";
}

TEST(Congestion, TuningGains) {
  IncastAsk a = ask(16);
  a.mb = 8;
  const auto best = tuned(a);
  ASSERT_TRUE(best);
  const auto before = incast(a);
  a.control = *best;
  const auto after = incast(a);
  EXPECT_LE(after->last_s, 1.02 * before->last_s);
}

TEST(Congestion, ContradictionsAreSaid) {
  IncastAsk a = ask(4);
  a.control.kmin_kb = 500;
  EXPECT_EQ(incast(a).error().what, "Kmin 500 KB is not below Kmax 450 KB");
  a = ask(4);
  a.xoff_kb = 100;
  EXPECT_EQ(incast(a).error().what, "pauses from 100 KB come before marks from 150 KB");
  EXPECT_FALSE(incast(ask(0)));
}

}  // namespace
}  // namespace muster::predict
