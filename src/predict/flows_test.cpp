#include "predict/flows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"

namespace muster::predict {
namespace {

Flows three(std::vector<std::vector<Flows::Use>> all) {
  Flows f;
  for (const auto& one : all) f.add(one);
  return f;
}

// Bertsekas and Gallager's example: who crosses the narrow link gets less, and the others share what that leaves.
TEST(Flows, OneThatIsHeldUpElsewhereLeavesRoom) {
  const double capacity[] = {10, 4};
  const auto r = max_min(three({{{0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}}}), capacity, 0);
  EXPECT_DOUBLE_EQ(r[1], 2);
  EXPECT_DOUBLE_EQ(r[2], 2);
  EXPECT_DOUBLE_EQ(r[0], 8);
}

TEST(Flows, OneThatUsesNoLinkIsNotLimited) {
  const double capacity[] = {10};
  const auto r = max_min(three({{}, {{0, 1}}}), capacity, 77);
  EXPECT_DOUBLE_EQ(r[0], 77);
  EXPECT_DOUBLE_EQ(r[1], 10);
}

TEST(Flows, AFlowInTwoHalvesIsTwiceAsFast) {
  const double capacity[] = {10, 10};
  EXPECT_DOUBLE_EQ(max_min(three({{{0, 0.5}, {1, 0.5}}}), capacity, 0)[0], 20);
}

// Three send to one receiver (link 1), a fourth shares only the way up (link 0) with them.
TEST(Flows, WherePausesAreAllThereIsABystanderIsHeldUpToo) {
  const double capacity[] = {4, 1, 1};
  const Flows f = three({{{0, 1}, {1, 1}}, {{0, 1}, {1, 1}}, {{0, 1}, {1, 1}}, {{0, 1}, {2, 1}}});
  EXPECT_DOUBLE_EQ(max_min(f, capacity, 0)[3], 1);
  const auto r = max_min_paused(f, capacity, 0);
  for (const double x : r) EXPECT_NEAR(x, 1.0 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(max_min_paused(three({{}, {{0, 1}}}), capacity, 77)[0], 77);
}

TEST(Flows, PausesNeverOverfillALink) {
  Prng prng(7, "pauses");
  for (int round = 0; round < 200; ++round) {
    std::vector<double> capacity(8);
    for (double& c : capacity) c = 1 + static_cast<double>(prng.below(5));
    Flows f;
    for (std::uint64_t n = 2 + prng.below(10); n > 0; --n) {
      std::vector<Flows::Use> uses;
      for (std::uint32_t l = 0; l < 8; ++l) {
        if (prng.below(3) == 0) uses.push_back({l, 1});
      }
      f.add(uses);
    }
    const auto r = max_min_paused(f, capacity, 0);
    std::vector<double> sum(8, 0.0);
    for (std::size_t i = 0; i < f.size(); ++i) {
      EXPECT_GE(r[i], 0);
      for (const auto& u : f.uses(i)) sum[u.link] += r[i];
    }
    for (std::size_t l = 0; l < 8; ++l) EXPECT_LE(sum[l], capacity[l] * (1 + 1e-9));
  }
}

TEST(Flows, ALinkThatIsDownStopsItsFlows) {
  const double capacity[] = {0, 10};
  const auto r = max_min(three({{{0, 1}, {1, 1}}, {{1, 1}}}), capacity, 0);
  EXPECT_DOUBLE_EQ(r[0], 0);
  EXPECT_DOUBLE_EQ(r[1], 10);
}

// What max-min fair means: no link carries more than it can, and each flow has a full link on which none is faster.
TEST(Flows, EachHasItsBottleneck) {
  Prng prng(7, "flows");
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t links = 1 + prng.below(12), count = 1 + prng.below(30);
    std::vector<double> capacity(links);
    for (double& c : capacity) c = 1 + 9 * prng.unit();
    Flows flows;
    for (std::size_t f = 0; f < count; ++f) {
      std::vector<Flows::Use> uses;
      for (std::uint32_t l = 0; l < links; ++l) {
        if (prng.below(3) == 0) uses.push_back({l, prng.below(2) == 0 ? 1 : 0.25 + 0.5 * prng.unit()});
      }
      flows.add(uses);
    }
    const auto rate = max_min(flows, capacity, 1e9);
    std::vector<double> load(links, 0);
    std::vector<double> fastest(links, 0);
    for (std::size_t f = 0; f < count; ++f) {
      for (const Flows::Use& u : flows.uses(f)) {
        load[u.link] += rate[f] * u.share;
        fastest[u.link] = std::max(fastest[u.link], rate[f]);
      }
    }
    for (std::size_t l = 0; l < links; ++l) EXPECT_LE(load[l], capacity[l] * (1 + 1e-9));
    for (std::size_t f = 0; f < count; ++f) {
      const auto uses = flows.uses(f);
      EXPECT_TRUE(uses.empty() || std::any_of(uses.begin(), uses.end(), [&](const Flows::Use& u) {
                    return load[u.link] > capacity[u.link] * (1 - 1e-9) && rate[f] > fastest[u.link] * (1 - 1e-9);
                  }));
    }
  }
}

}  // namespace
}  // namespace muster::predict
