#include "predict/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/prng.h"

namespace muster::predict {
namespace {

constexpr double kLlama = 419 / (54 * 86400.0);  // interruptions a second of the Llama 3 405B run

TEST(Checkpoint, TheTwoPointsThatAreOftenQuoted) {
  EXPECT_NEAR(young_daly({kLlama, 1, 180, 0}).useful, 0.971, 0.0005);
  EXPECT_NEAR(young_daly({kLlama, 3, 180, 0}).useful, 0.961, 0.0005);
}

TEST(Checkpoint, NoOtherIntervalIsBetter) {
  for (const double rate : {1e-7, 1e-5, kLlama, 1e-2, 1.0}) {
    for (const double stall : {1e-3, 1.0, 30.0, 600.0}) {
      const CheckpointAsk ask{rate, stall, 100, 5};
      const CheckpointAdvice best = young_daly(ask);
      EXPECT_DOUBLE_EQ(best.useful, useful_share(ask, best.interval_s));
      for (double f = 0.5; f < 2; f += 0.01) EXPECT_LE(useful_share(ask, best.interval_s * f), best.useful * (1 + 1e-12));
      EXPECT_LT(useful_share(ask, best.interval_s * 1.3), best.useful) << rate << " " << stall;
      EXPECT_LT(useful_share(ask, best.interval_s / 1.3), best.useful) << rate << " " << stall;
    }
  }
}

TEST(Checkpoint, IsYoungsWhereFailuresAreRareAndShorterWhereTheyAreNot) {
  const double stall = 2;
  const auto young = [&](double rate) { return std::sqrt(2 * stall / rate); };
  EXPECT_NEAR(young_daly({1e-9, stall, 0, 0}).interval_s / young(1e-9), 1, 1e-4);
  EXPECT_LT(young_daly({1e-1, stall, 0, 0}).interval_s, 0.9 * young(1e-1));
}

TEST(Checkpoint, NothingFailsOrACheckpointIsFree) {
  EXPECT_EQ(young_daly({0, 10, 100, 0}).interval_s, std::numeric_limits<double>::infinity());
  EXPECT_EQ(young_daly({0, 10, 100, 0}).useful, 1);
  EXPECT_EQ(young_daly({kLlama, 0, 0, 0}).interval_s, 0);
  EXPECT_EQ(young_daly({kLlama, 0, 0, 0}).useful, 1);
  EXPECT_LT(young_daly({kLlama, 0, 180, 0}).useful, 1);
}

// One long life of a run, event by event, with nothing of the formula in it.
double played(const CheckpointAsk& ask, double interval_s, double length_s) {
  Prng prng(7, "checkpoint");
  double t = 0, useful = 0;
  while (t < length_s) {
    const double life = prng.exponential(1 / ask.failures_per_s);
    const double begun = ask.recover_s;  // steps begin, if nothing fails before
    for (double c = begun + interval_s + ask.stall_s; c + ask.write_s <= life; c += interval_s + ask.stall_s)
      useful += interval_s;
    t += life;
  }
  return useful / t;
}

TEST(Checkpoint, AgreesWithALifePlayedOut) {
  for (const CheckpointAsk& ask : {CheckpointAsk{kLlama, 3, 180, 4}, CheckpointAsk{1e-3, 20, 300, 60}}) {
    for (const double interval : {120.0, 400.0, 1500.0}) {
      EXPECT_NEAR(played(ask, interval, 3e9), useful_share(ask, interval), 0.002);
    }
  }
}

}  // namespace
}  // namespace muster::predict
