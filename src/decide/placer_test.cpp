#include "decide/placer.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "model/story.h"

namespace muster::decide {
namespace {

// Nodes on leaves of any size, pods of any number of leaves; some of the nodes are not free.
State random_cluster(Prng& prng) {
  State s;
  s.site.leaves = static_cast<std::uint32_t>(1 + prng.below(7));
  s.site.pods = static_cast<std::uint32_t>(1 + prng.below(std::min(s.site.leaves, 3U)));
  for (std::uint32_t leaf = 0; leaf < s.site.leaves; ++leaf) {
    const std::uint64_t size = 1 + prng.below(5);
    for (std::uint64_t i = 0; i < size; ++i) {
      s.site.nodes.push_back({"n", 0, leaf, leaf * s.site.pods / s.site.leaves, 0});
      NodeState n;
      const std::uint64_t fate = prng.below(8);
      if (fate == 0) n.condition = NodeCondition::down;
      if (fate == 1) n.hold = Hold::person;
      if (fate == 2) n.shares = {{JobId{1, 0}, 255, 1000}};
      if (fate == 3) n.incident = IncidentId{1};
      s.nodes.push_back(n);
    }
  }
  return s;
}

struct Least {
  int leaves = 0;           // 0: does not fit
  bool in_one_pod = false;  // possible with that number of leaves
};

// Every subset of the leaves.
Least brute_force(const State& s, std::uint32_t nodes) {
  std::vector<std::uint32_t> free(s.site.leaves, 0);
  std::vector<std::uint32_t> pod(s.site.leaves, 0);
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
    free[s.site.nodes[n].leaf] += (placeable(s, NodeId{n}) && !s.nodes[n].busy()) ? 1 : 0;
    pod[s.site.nodes[n].leaf] = s.site.nodes[n].pod;
  }
  Least best;
  for (unsigned subset = 1; subset < 1U << s.site.leaves; ++subset) {
    std::uint32_t holds = 0;
    std::set<std::uint32_t> pods;
    for (std::uint32_t l = 0; l < s.site.leaves; ++l) {
      if ((subset >> l & 1U) == 0) continue;
      holds += free[l];
      pods.insert(pod[l]);
    }
    if (holds < nodes) continue;
    const int used = __builtin_popcount(subset);
    if (best.leaves == 0 || used < best.leaves) best = {used, false};
    if (used == best.leaves && pods.size() == 1) best.in_one_pod = true;
  }
  return best;
}

void expect_best(const State& s, std::uint32_t wanted, const std::optional<Placer::Choice>& c, std::uint64_t round) {
  const Least least = brute_force(s, wanted);
  ASSERT_EQ(c.has_value(), least.leaves != 0) << "round " << round;
  if (!c) return;
  std::set<NodeId> distinct(c->nodes.begin(), c->nodes.end());
  ASSERT_EQ(distinct.size(), wanted) << "round " << round;
  std::set<std::uint32_t> leaves;
  std::set<std::uint32_t> pods;
  for (const NodeId n : c->nodes) {
    ASSERT_TRUE((placeable(s, n) && !s.nodes[n.v].busy())) << "round " << round;
    leaves.insert(s.site.nodes[n.v].leaf);
    pods.insert(s.site.nodes[n.v].pod);
  }
  ASSERT_EQ(static_cast<int>(leaves.size()), least.leaves) << "round " << round;
  ASSERT_EQ(c->placement.leaves, leaves.size()) << "round " << round;
  ASSERT_EQ(c->placement.leaves_min, leaves.size()) << "round " << round;
  ASSERT_EQ(pods.size() == 1, least.in_one_pod || least.leaves == 1) << "round " << round;
  ASSERT_FALSE(c->placement.why.empty());
  ASSERT_TRUE(std::is_sorted(c->nodes.begin(), c->nodes.end()));
}

TEST(Placement, NoChoiceOfLeavesUsesFewerInThirtyThousandClusters) {
  Prng prng(1, "placement");
  for (std::uint64_t round = 0; round < 30'000; ++round) {
    const State s = random_cluster(prng);
    const auto wanted = static_cast<std::uint32_t>(1 + prng.below(s.nodes.size()));
    Placer placer;
    placer.update(s);
    ASSERT_NO_FATAL_FAILURE(expect_best(s, wanted, placer.place(wanted), round));
  }
}

TEST(Placement, AnIndexThatWasKeptUpToDateAnswersLikeAFreshOne) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Prng prng(seed, "kept");
    State s = random_cluster(prng);
    Placer kept;
    kept.update(s);
    for (int step = 0; step < 40; ++step) {
      s.dirty_nodes.clear();
      const std::uint64_t changes = prng.below(4);
      for (std::uint64_t i = 0; i < changes; ++i) {
        const NodeId n{static_cast<std::uint32_t>(prng.below(s.nodes.size()))};
        s.nodes[n.v].shares = prng.chance(0.5) ? std::vector<Share>{{JobId{2, 0}, 255, 1000}} : std::vector<Share>{};
        s.dirty_nodes.insert(n);
      }
      const auto wanted = static_cast<std::uint32_t>(1 + prng.below(6));
      kept.update(s);
      Placer fresh;
      fresh.update(s);
      ASSERT_EQ(kept.free(), fresh.free()) << "seed " << seed;
      const auto a = kept.place(wanted);
      const auto b = fresh.place(wanted);
      ASSERT_EQ(a.has_value(), b.has_value()) << "seed " << seed;
      if (!a) continue;
      ASSERT_EQ(a->nodes, b->nodes) << "seed " << seed << " step " << step;
      for (const NodeId n : a->nodes) {  // they are given to a job
        s.nodes[n.v].shares = {{JobId{3, 0}, 255, 1000}};
        s.dirty_nodes.insert(n);
      }
      kept.update(s);
    }
  }
}

TEST(Placement, NodesGivenInOneTurnAreNotGivenTwice) {
  Story t(8);
  Placer placer;
  placer.update(t.s);
  std::set<NodeId> given;
  for (int i = 0; i < 4; ++i) {
    const auto c = placer.place(2);
    ASSERT_TRUE(c);
    for (const NodeId n : c->nodes) EXPECT_TRUE(given.insert(n).second);
  }
  EXPECT_FALSE(placer.place(1));
  EXPECT_EQ(placer.free(), 0U);
}

TEST(Placement, TheTightestHoleIsTakenAndLargeOnesStayWhole) {
  Story t(small_site(8, 4));
  t.running({NodeId{0}, NodeId{1}});  // leaf 0 has a hole of two
  Placer placer;
  placer.update(t.s);
  const auto c = placer.place(2);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->nodes, (std::vector<NodeId>{NodeId{2}, NodeId{3}}));
}

TEST(Placement, NothingIsAskedForAndNothingIsGiven) {
  Story t(4);
  Placer placer;
  placer.update(t.s);
  EXPECT_FALSE(placer.place(0));
  EXPECT_FALSE(placer.place(5));
}

}  // namespace
}  // namespace muster::decide
