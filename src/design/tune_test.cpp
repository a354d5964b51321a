#include "design/tune.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/math.h"
#include "base/prng.h"

namespace muster::design {
namespace {

using A = NcclAlgorithm;
using P = NcclProtocol;

// A cluster of which all is known: what each way truly takes, and which of them NCCL takes by a wrong belief of the network.
struct World {
  struct Way {
    NcclWay way;
    double start_us, us_per_kib;
  };
  std::vector<Way> ways = {{{false, A::tree, P::ll, 0, 0}, 60, 4.0},      {{false, A::tree, P::simple, 0, 0}, 110, 0.80},
                           {{false, A::ring, P::ll, 0, 0}, 75, 1.6},      {{false, A::ring, P::ll128, 0, 0}, 85, 0.95},
                           {{false, A::ring, P::simple, 0, 0}, 140, 0.5}, {{false, A::ring, P::simple, 4, 0}, 142, 0.51}};
  double noise = 0.05, outliers = 0.1;

  double truly(const NcclWay& way, double bytes) const {
    for (const Way& w : ways) {
      if (w.way == way) return w.start_us + w.us_per_kib * bytes / 1024;
    }
    return 0;
  }
  // Stays with LL far too long, as NCCL does where it takes the network for slow.
  NcclWay own(double bytes) const { return bytes < 65536 ? ways[0].way : bytes < (1 << 21) ? ways[2].way : ways[4].way; }

  std::vector<TuneTime> measured(std::uint64_t seed, std::uint32_t launches) const {
    Prng prng(seed, "tune");
    std::vector<TuneTime> out;
    const TuneKey key{Collective::all_reduce, 4, 1, 1, false};
    for (std::uint32_t run = 0; run < launches; ++run) {
      for (double bytes = 1024; bytes <= (1 << 26); bytes *= 2) {
        const auto add = [&](const NcclWay& name, const NcclWay& way) {
          const double late = prng.chance(outliers) ? 1.5 : 1;
          out.push_back({key, bytes, name, run, truly(way, bytes) * prng.lognormal(0, noise) * late});
        };
        add({}, own(bytes));
        for (const Way& w : ways) add(w.way, w.way);
      }
    }
    return out;
  }
  double best(double bytes) const {
    double least = 1e300;
    for (const Way& w : ways) least = std::min(least, truly(w.way, bytes));
    return least;
  }
};

TEST(Tune, NearTheBestAndNeverSlowerThanNcclsOwn) {
  for (const double noise : {0.01, 0.05, 0.15}) {
    World world;
    world.noise = noise;
    double logs = 0, before = 0;
    int n = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto all = tune(world.measured(seed, 8), {});
      ASSERT_EQ(all.size(), 1u);
      ASSERT_EQ(all[0].sizes.size(), 17u);
      for (const TunedSize& s : all[0].sizes) {
        const NcclWay way = s.choice.own ? world.own(s.bytes) : s.choice;
        const double us = world.truly(way, s.bytes), own = world.truly(world.own(s.bytes), s.bytes);
        EXPECT_LE(us, 1.03 * own) << s.bytes << " noise " << noise << " seed " << seed;
        logs += det_log(us / world.best(s.bytes));
        before += det_log(own / world.best(s.bytes));
        ++n;
      }
    }
    EXPECT_GT(det_exp(before / n), 1.10);
    EXPECT_LT(det_exp(logs / n), noise < 0.1 ? 1.02 : 1.05) << "noise " << noise;
  }
}

TEST(Tune, WithoutADifferenceNothingIsChanged) {
  World world;
  for (World::Way& w : world.ways) w = {w.way, 100, 1};
  std::uint32_t changed = 0, sizes = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto all = tune(world.measured(seed, 8), {});
    changed += all[0].overridden();
    sizes += static_cast<std::uint32_t>(all[0].sizes.size());
  }
  EXPECT_LE(changed, sizes / 100);
}

TEST(Tune, FewSwitchesAlongTheSizes) {
  World world;
  const auto all = tune(world.measured(7, 8), {});
  int switches = 0;
  for (std::size_t i = 1; i < all[0].sizes.size(); ++i) switches += all[0].sizes[i].choice != all[0].sizes[i - 1].choice;
  EXPECT_LE(switches, 5);
}

TEST(Tune, TooFewRepetitionsSayNothing) {
  World world;
  const auto all = tune(world.measured(1, 3), {});
  for (const TunedSize& s : all[0].sizes) {
    EXPECT_EQ(s.verdict, TuneVerdict::too_few);
    EXPECT_TRUE(s.choice.own);
  }
  EXPECT_EQ(all[0].overridden(), 0u);
  EXPECT_DOUBLE_EQ(all[0].regret(), 1);
}

TEST(Tune, RegretIsThatOfTheOtherHalf) {
  World world;
  world.noise = 0.01;
  world.outliers = 0;
  const auto all = tune(world.measured(3, 8), {});
  for (const TunedSize& s : all[0].sizes) {
    const double truth = world.truly(world.own(s.bytes), s.bytes) / world.best(s.bytes);
    EXPECT_NEAR(s.regret / truth, 1, 0.05);
    EXPECT_LT(s.left, 1.06);
    EXPECT_GE(s.ways.size(), 6u);
    EXPECT_LE(s.ways[0].us, s.ways[1].us);
  }
  EXPECT_GT(all[0].worst_regret(), 1.5);
}

TEST(Tune, AWayThatWasGivenUpEarlyIsNotTheFastest) {
  World world;
  auto times = world.measured(1, 8);
  const NcclWay lucky = world.ways[1].way;
  std::erase_if(times, [&](const TuneTime& t) { return t.way == lucky && t.run > 0; });
  for (TuneTime& t : times) {
    if (t.way == lucky) t.time_us = 1;
  }
  const auto all = tune(times, {}), three = tune(world.measured(1, 3), {});
  for (const TunedSize& s : all[0].sizes) {
    EXPECT_EQ(s.ways[0].way, lucky);
    EXPECT_EQ(s.ways[0].launches, 1u);
    EXPECT_NE(s.best, lucky);
    EXPECT_GT(s.best_us, 1);
  }
  for (const TunedSize& s : three[0].sizes) EXPECT_EQ(s.best_us, 0) << "none has enough launches";
}

// Three sizes of which the outer ones gain a third surely, and the one between them `middle`, which is not sure by itself.
std::vector<TuneTime> carried(double middle, Collective op = Collective::all_reduce) {
  std::vector<TuneTime> times;
  const TuneKey key{op, 4, 1, 1, false};
  const double off[] = {0.04, -0.04, 0.02, -0.02};  // the same in both halves, and their medians are none
  for (std::uint32_t run = 0; run < 8; ++run) {
    for (const double bytes : {1024.0, 2048.0, 4096.0}) {
      const double us = 100 * det_exp(off[run / 2]);
      times.push_back({key, bytes, {}, run, us});
      times.push_back({key, bytes, {false, A::ring, P::ll, 0, 0}, run, us / det_exp(bytes == 2048 ? middle : 0.3)});
    }
  }
  return times;
}

TEST(Tune, WhatNeighboursCarryKeepsItsOwnGain) {
  const TuneRules rules;
  const TunedSize unsure = tune(carried(0.06), rules)[0].sizes.at(1);
  EXPECT_EQ(unsure.verdict, TuneVerdict::carried);
  EXPECT_NEAR(unsure.here.gain, 0.053, 0.01);
  EXPECT_LT(unsure.here.low, rules.margin);
  EXPECT_GT(unsure.neighbours.low, rules.margin);
  EXPECT_GT(unsure.neighbours.gain, 0.15);
  EXPECT_EQ(unsure.held(rules).gain, unsure.here.gain);
  // Where its own gain would not pass the plugin's question, that of all three is what the table holds.
  const TunedSize small = tune(carried(0.04), rules)[0].sizes.at(1);
  EXPECT_EQ(small.verdict, TuneVerdict::carried);
  EXPECT_LT(small.here.gain, rules.margin);
  EXPECT_EQ(small.held(rules).gain, small.neighbours.gain);
  EXPECT_GT(small.held(rules).gain, small.held(rules).noise);
}

TEST(Tune, WhatNcclHasOneWayForIsLeftAlone) {
  for (const Collective op : {Collective::all_to_all, Collective::send_recv}) {
    const auto all = tune(carried(0.3, op), {});
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].overridden(), 0u);
    EXPECT_DOUBLE_EQ(all[0].regret(), 1);
    for (const TunedSize& s : all[0].sizes) EXPECT_EQ(s.verdict, TuneVerdict::no_choice);
  }
}

TEST(Tune, WithoutNcclsOwnTimesNothingIsChanged) {
  World world;
  auto times = world.measured(1, 8);
  std::erase_if(times, [](const TuneTime& t) { return t.way.own; });
  const auto all = tune(times, {});
  for (const TunedSize& s : all[0].sizes) EXPECT_TRUE(s.choice.own);
  EXPECT_TRUE(tune({}, {}).empty());
}

TEST(Tune, ABufferThatHelpsEverywhere) {
  Prng prng(1, "buffer");
  std::vector<TuneTime> times;
  const TuneKey key{Collective::all_gather, 2, 8, 8, false};
  for (std::uint32_t run = 0; run < 8; ++run) {
    for (double bytes = 1024; bytes <= (1 << 24); bytes *= 4) {
      const auto add = [&](std::uint64_t buffer, double us) {
        NcclWay way;
        way.buffer_bytes = buffer;
        times.push_back({key, bytes, way, run, us * prng.lognormal(0, 0.02)});
      };
      add(0, 100);
      add(1 << 21, bytes < 4096 ? 120 : 80);  // harms the smallest
      add(1 << 23, 90);
    }
  }
  EXPECT_EQ(tune_buffer(times, key, {}).bytes, std::uint64_t{1} << 23);
  EXPECT_NEAR(tune_buffer(times, key, {}).gain, 0.111, 0.02);
  EXPECT_EQ(tune_buffer(times, {}, {}).bytes, 0u);
}

}  // namespace
}  // namespace muster::design
