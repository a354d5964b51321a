#include "decide/share/packer.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "base/prng.h"

namespace muster::share {
namespace {

constexpr NodeSpec kBig{96000, 393216, 8, 0};
constexpr NodeSpec kSmall{104000, 524288, 2, 1};

PodShape whole(int gpus, int cores = 4) { return {cores * 1000, 8192, gpus, kGpuMilli, kAnyModel}; }
PodShape part(int milli, int cores = 2) { return {cores * 1000, 4096, 1, milli, kAnyModel}; }
PodShape cpu_only(int cores) { return {cores * 1000, 4096, 0, 0, kAnyModel}; }

TEST(ShareNode, TakingAndGivingBackIsExact) {
  NodeState n = NodeState::empty(kBig, 0);
  const NodeState before = n;
  const PodShape p = part(470);
  const std::uint32_t on = gpus_for(n, p, 3);
  EXPECT_EQ(on, 8u);
  take(n, p, on);
  EXPECT_EQ(n.free[3], 530);
  EXPECT_EQ(n.gpu_milli, 7530);
  EXPECT_TRUE(fits(n, whole(7)));
  EXPECT_FALSE(fits(n, whole(8)));  // GPU 3 is shared already
  EXPECT_EQ(gpus_for(n, whole(4), 0), 0b10111u);
  give_back(n, p, on);
  EXPECT_EQ(n, before);
}

TEST(ShareNode, ModelsCpuAndMemoryAllHaveToFit) {
  const NodeState n = NodeState::empty(kSmall, 0);
  PodShape p = whole(1);
  EXPECT_TRUE(fits(n, p));
  p.models = 1;  // model 0 only
  EXPECT_FALSE(fits(n, p));
  EXPECT_FALSE(fits(n, whole(1, 105)));
  p = whole(1);
  p.memory_mib = 600000;
  EXPECT_FALSE(fits(n, p));
  p = cpu_only(104);
  p.models = 0;  // without GPUs a model means nothing
  EXPECT_TRUE(fits(n, p));
}

TEST(Fragmentation, IsWhatTheUsualPodCannotUse) {
  const WeightedShape usual[] = {{whole(1), 0.5}, {part(500), 0.5}};
  const Fragmentation f(usual);
  NodeState n = NodeState::empty(kSmall, 0);
  EXPECT_DOUBLE_EQ(f.of(n), 0);  // both kinds can use all of it
  take(n, part(600), 1);
  // 400 + 1000 are left: the whole pod leaves 400 unused, the half one 400 as well.
  EXPECT_DOUBLE_EQ(f.of(n), 400);
  take(n, cpu_only(99), 0);  // 3 cores are left: the whole pod wants 4
  EXPECT_DOUBLE_EQ(f.of(n), 0.5 * 1400 + 0.5 * 400);
  EXPECT_DOUBLE_EQ(Fragmentation().of(n), 0);
}

TEST(Fragmentation, InDepthCpuMustServeAllTheGpus) {
  const WeightedShape usual[] = {{whole(1, 20), 1}};
  NodeState n = NodeState::empty(kBig, 0);  // 96 cores for 8 GPUs: such pods can use 4.8 of them
  EXPECT_DOUBLE_EQ(Fragmentation(usual).of(n), 0);
  EXPECT_NEAR(Fragmentation(usual, 1).of(n), 3200, 1e-6);
  EXPECT_NEAR(Fragmentation(usual, 0.5).of(n), 1600, 1e-6);
  const WeightedShape light[] = {{whole(1, 12), 0.5}, {whole(2, 24), 0.25}, {part(300, 12), 0.25}};
  EXPECT_NEAR(Fragmentation(light, 1).of(n), 0, 1e-6);
}

TEST(Fragmentation, TypicalPodsCoverNineteenOfTwenty) {
  std::vector<PodShape> pods(90, whole(1));
  pods.insert(pods.end(), 6, part(500));
  pods.insert(pods.end(), 4, whole(8));
  pods[3].memory_mib += 1;  // memory makes no kind of its own
  const auto t = typical_pods(pods);
  ASSERT_EQ(t.size(), 2u);
  EXPECT_DOUBLE_EQ(t[0].weight, 90.0 / 96);
  EXPECT_DOUBLE_EQ(t[1].weight, 6.0 / 96);
}

TEST(Prices, AModelThatIsWantedBeyondItsSupplyIsDear) {
  const NodeSpec kinds[] = {{96000, 393216, 8, 0}, {96000, 393216, 8, 1}};
  const NodeState nodes[] = {NodeState::empty(kinds[0], 0), NodeState::empty(kinds[1], 1)};
  Prices prices(kinds, nodes);
  PodShape picky = whole(1);
  picky.models = 2;  // model 1 only
  const Demand demand[] = {{whole(1), 10}, {picky, 10}};
  prices.plan(nodes, demand);
  EXPECT_GT(prices.of(whole(1), 1), 1.5 * prices.of(whole(1), 0));
  const Demand easy[] = {{whole(1), 20}};
  prices.plan(nodes, easy);
  EXPECT_NEAR(prices.of(whole(1), 1), prices.of(whole(1), 0), 1e-6);
}

TEST(Prices, CoresAreDearWhereGpusNeedThem) {
  const NodeSpec kinds[] = {{96000, 393216, 8, 0}, {96000, 393216, 1, 0}};
  const NodeState nodes[] = {NodeState::empty(kinds[0], 0), NodeState::empty(kinds[1], 1)};
  Prices prices(kinds, nodes);
  const Demand demand[] = {{whole(1, 11), 9}, {cpu_only(8), 6}};
  prices.plan(nodes, demand);
  EXPECT_GT(prices.of(cpu_only(8), 0), 2 * prices.of(cpu_only(8), 1));
}

TEST(Packer, LearnsToKeepTheWantedModelForThoseWhoNeedIt) {
  std::vector<NodeSpec> nodes(10, NodeSpec{96000, 393216, 8, 0});
  nodes.insert(nodes.begin(), 10, NodeSpec{96000, 393216, 8, 1});
  PodShape picky = whole(1);
  picky.models = 2;
  Packer packer(nodes, Policy::muster);
  int lost = 0;
  for (int i = 0; i < 160; ++i) {
    const bool wants_one = i % 2 == 1;
    if (!packer.place(wants_one ? picky : whole(1)).has_value()) ++lost;
  }
  EXPECT_LE(lost, 12);  // a policy blind to models puts half of the others there and loses about 40
}

TEST(Packer, FillsTheGapThatFits) {
  const std::vector<NodeSpec> nodes(4, NodeSpec{64000, 262144, 2, 0});
  for (const Policy policy : {Policy::best_fit, Policy::muster}) {
    Packer packer(nodes, policy);
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(packer.place(part(600)).has_value());
      const auto spot = packer.place(part(400));
      ASSERT_TRUE(spot.has_value());
    }
    for (const NodeState& n : packer.nodes()) EXPECT_EQ(n.gpu_milli, 0);
  }
}

// A stream of pods that come and go; `check` is called after each step.
template <class F>
void run_stream(std::uint64_t seed, Policy policy, F check) {
  Prng r(seed, "packer-test");
  std::vector<NodeSpec> nodes;
  for (std::uint64_t n = 1 + r.below(12); n > 0; --n) {
    const auto gpus = static_cast<int>(r.below(9));
    nodes.push_back({static_cast<std::int32_t>(1000 * r.below(100)), static_cast<std::int32_t>(1024 * r.below(400)), gpus,
                     static_cast<int>(r.below(3))});
  }
  std::vector<PodShape> kinds;
  for (int i = 0; i < 12; ++i) {
    PodShape p{static_cast<std::int32_t>(500 * r.below(40)), static_cast<std::int32_t>(1024 * r.below(40)), 0, 0, kAnyModel};
    const std::uint64_t what = r.below(3);
    if (what == 1) p.gpus = 1, p.gpu_milli = static_cast<int>(1 + r.below(999));
    if (what == 2) p.gpus = static_cast<int>(1 + r.below(8)), p.gpu_milli = kGpuMilli;
    if (r.chance(0.3)) p.models = 1 + r.below(7);
    kinds.push_back(p);
  }
  Packer packer(nodes, policy);
  packer.expect(typical_pods(kinds));
  std::vector<std::pair<PodShape, Spot>> running;
  for (int step = 0; step < 300; ++step) {
    if (!running.empty() && r.chance(0.3)) {
      std::swap(running[r.below(running.size())], running.back());
      packer.release(running.back().first, running.back().second);
      running.pop_back();
    }
    const PodShape& p = kinds[r.below(kinds.size())];
    bool fitted = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) fitted = fitted || packer.fits(p, i);
    const auto spot = packer.place(p);
    ASSERT_EQ(spot.has_value(), fitted) << "seed " << seed << " step " << step;  // a pod that fits is never refused
    if (spot) running.emplace_back(p, *spot);
    check(nodes, packer, running, spot);
  }
}

TEST(Packer, NeverGivesAwayWhatIsNotThere) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    for (const Policy policy : {Policy::best_fit, Policy::fgd, Policy::muster}) {
      run_stream(seed, policy, [&](const auto& nodes, const Packer& packer, const auto& running, const auto&) {
        std::vector<NodeState> expected;
        for (std::size_t i = 0; i < nodes.size(); ++i) expected.push_back(NodeState::empty(nodes[i], packer.nodes()[i].kind));
        for (const auto& [pod, spot] : running) {
          ASSERT_EQ(std::popcount(spot.gpus), pod.gpus);
          take(expected[spot.node], pod, spot.gpus);  // aborts where something would fall below zero
        }
        for (std::size_t i = 0; i < nodes.size(); ++i) ASSERT_EQ(expected[i], packer.nodes()[i]) << seed;
      });
    }
  }
}

TEST(Packer, TheSamePodsGiveTheSameSpots) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string first;
    std::string second;
    for (std::string* log : {&first, &second}) {
      run_stream(seed, Policy::muster, [&](const auto&, const auto&, const auto&, const auto& spot) {
        *log += spot ? std::to_string(spot->node) + "/" + std::to_string(spot->gpus) + " " : "- ";
      });
    }
    EXPECT_EQ(first, second);
  }
}

// What is remembered of nodes that did not change must be what judging them anew would give.
TEST(Packer, RemembersWithoutForgettingToLookAgain) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    run_stream(seed, Policy::fgd, [&](const auto& nodes, const Packer& packer, const auto& running, const auto&) {
      if (running.size() % 7 != 0) return;
      Packer fresh(nodes, Policy::fgd);
      Packer copy = packer;
      std::vector<PodShape> shapes;
      for (const auto& [pod, spot] : running) {
        fresh.take(pod, spot);
        shapes.push_back(pod);
      }
      if (shapes.empty()) return;
      copy.expect(typical_pods(shapes));
      fresh.expect(typical_pods(shapes));
      const auto a = copy.place(shapes.front());
      const auto b = fresh.place(shapes.front());
      ASSERT_EQ(a.has_value(), b.has_value());
      if (a) {
        ASSERT_EQ(a->node, b->node);
        ASSERT_EQ(a->gpus, b->gpus);
      }
    });
  }
}

}  // namespace
}  // namespace muster::share
