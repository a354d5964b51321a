#include "decide/moves/defrag.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <set>

#include "decide/moves/trial_cluster.h"

namespace muster::decide {
namespace {

// Two leaves of four nodes, each half full of gangs of one node: four nodes free, no leaf whole.
struct Halves {
  Layout layout;
  std::vector<Gang> gangs;
  Waiting waiting{
      .id = {9, 0}, .shape = {.pieces = 3, .required = Level::leaf}, .milli_gpus = 24'000, .wait_s = 7200, .run_s = 36'000};

  Halves() {
    layout.models = {"H200"};
    for (std::uint32_t n = 0; n < 8; ++n) layout.nodes.push_back({n, n / 4, 0, 8, 0});
    for (const std::uint32_t n : {0U, 1U, 4U, 5U}) {
      Gang g;
      g.id = {n + 1, 0};
      g.nodes = {NodeId{n}};
      g.slots = {0xff};
      g.since_checkpoint_s = n == 5 ? 5 : 900;
      g.restart_s = 120;
      g.remaining_s = 36'000;
      gangs.push_back(g);
    }
  }
  Tree tree() const {
    Tree t(layout);
    for (const Gang& g : gangs) take(t, g);
    return t;
  }
};

TEST(Defrag, MovesTheGangThatHasJustMadeACheckpoint) {
  const Halves h;
  Tree tree = h.tree();
  ASSERT_FALSE(tree.find(h.waiting.shape));
  const auto plan = plan_defrag(tree, h.layout, h.gangs, std::span(&h.waiting, 1));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->moves.size(), 1U);
  EXPECT_EQ(plan->moves[0].id, (JobId{6, 0}));
  EXPECT_EQ(plan->beneficiary, (JobId{9, 0}));
  EXPECT_DOUBLE_EQ(plan->gain_gpu_h, 48);  // 24 GPUs, two hours sooner
  EXPECT_NEAR(plan->cost_gpu_h, 8 * 125 / 3600.0, 1e-9);
  EXPECT_EQ(plan->why,
            "moving 1 gang (6) at a checkpoint lets job 9 start now instead of in 2h 00m: 48 GPU-hours gained for 0.278 spent");
  apply(tree, h.gangs, *plan, h.waiting.shape);
  EXPECT_EQ(tree.free_gpus(), 8U);
}

TEST(Defrag, WaitsForACheckpoint) {
  Halves h;
  for (Gang& g : h.gangs) g.since_checkpoint_s = 900;
  Tree tree = h.tree();
  EXPECT_FALSE(plan_defrag(tree, h.layout, h.gangs, std::span(&h.waiting, 1)));
}

TEST(Defrag, DoesNotMoveWhereTheGainIsSmallerThanTheRestart) {
  Halves h;
  h.waiting.wait_s = 40;  // 24 GPUs * 40 s < 1.5 * 8 GPUs * 125 s
  Tree tree = h.tree();
  EXPECT_FALSE(plan_defrag(tree, h.layout, h.gangs, std::span(&h.waiting, 1)));
  h.waiting.wait_s = 80;
  EXPECT_TRUE(plan_defrag(tree, h.layout, h.gangs, std::span(&h.waiting, 1)));
  h.waiting.run_s = 40;  // nor for a job that is soon done
  EXPECT_FALSE(plan_defrag(tree, h.layout, h.gangs, std::span(&h.waiting, 1)));
}

TEST(Defrag, MovesNoMoreThanAllowed) {
  Halves h;
  h.waiting.shape.pieces = 4;
  h.waiting.milli_gpus = 32'000;
  for (Gang& g : h.gangs) g.since_checkpoint_s = 5;
  Tree tree = h.tree();
  EXPECT_FALSE(plan_defrag(tree, h.layout, h.gangs, std::span(&h.waiting, 1), {.moves_max = 1}));
  const auto plan = plan_defrag(tree, h.layout, h.gangs, std::span(&h.waiting, 1), {.moves_max = 2});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->moves.size(), 2U);
}

TEST(Defrag, LeavesAGangAloneWhoseNewPlaceWouldSlowItMoreThanOthersGain) {
  Halves h;
  // One gang of two nodes in leaf 1 and a free node in each leaf: moved, it would lie in two leaves.
  h.gangs[2].nodes = {NodeId{4}, NodeId{5}};
  h.gangs[2].slots = {0xff, 0xff};
  h.gangs[2].shape.pieces = 2;
  h.gangs[2].since_checkpoint_s = 5;
  h.gangs[3].nodes = {NodeId{2}};
  h.gangs[3].since_checkpoint_s = 900;
  h.waiting.shape.pieces = 3;
  Tree tree = h.tree();
  EXPECT_TRUE(plan_defrag(tree, h.layout, h.gangs, std::span(&h.waiting, 1)));
  EXPECT_FALSE(plan_defrag(tree, h.layout, h.gangs, std::span(&h.waiting, 1), {.slowdown_per_leaf = 0.5}));
}

bool within(const Layout& layout, const std::vector<NodeId>& nodes, Level level) {
  std::set<std::uint32_t> groups;
  for (const NodeId n : nodes) groups.insert(group_of(layout, n, level));
  return groups.size() == 1;
}

std::uint32_t pieces(const Layout& layout, const Choice& c, const Shape& s) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    const std::uint32_t piece = s.gpus == 0 ? layout.nodes[c.nodes[i].v].gpus : s.gpus;
    out += static_cast<std::uint32_t>(std::popcount(c.slots[i])) / piece;
  }
  return out;
}

struct Case {
  TrialCluster cluster;
  std::vector<Waiting> waiting;
  DefragRules rules;
};

Case random_case(Prng& r) {
  Case c;
  c.cluster = trial_cluster(r, 12, 14);
  std::erase_if(c.cluster.gangs, [&](const Gang&) { return r.chance(0.4); });  // room, but scattered
  for (Gang& g : c.cluster.gangs) {
    if (r.chance(0.5)) g.since_checkpoint_s = static_cast<double>(r.below(60));
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    Waiting w{.id = {900 + i, 0}, .shape = trial_shape(r, c.cluster.layout)};
    if (r.chance(0.6)) w.shape = {.pieces = static_cast<std::uint32_t>(2 + r.below(3)), .required = Level::leaf};
    w.milli_gpus = 1000ULL * w.shape.pieces * std::max(1U, w.shape.gpus);
    w.wait_s = static_cast<double>(r.below(10'000));
    w.run_s = static_cast<double>(r.below(50'000));
    c.waiting.push_back(w);
  }
  c.rules.slowdown_per_leaf = r.chance(0.5) ? 0.02 : 0;
  c.rules.moves_max = static_cast<std::uint32_t>(1 + r.below(3));
  return c;
}

struct Seen {
  int plans = 0;
  int several = 0;
};

void check_plan(const Case& c, const Tree& before, const Defrag& plan, Seen& seen) {
  const auto w = std::find_if(c.waiting.begin(), c.waiting.end(), [&](const Waiting& x) { return x.id == plan.beneficiary; });
  RC_ASSERT(w != c.waiting.end());
  RC_ASSERT(!before.find(w->shape).has_value());
  RC_ASSERT(plan.gain_gpu_h > plan.cost_gpu_h * (1 + c.rules.margin));
  RC_ASSERT(!plan.moves.empty());
  RC_ASSERT(plan.moves.size() <= c.rules.moves_max);
  RC_ASSERT(pieces(c.cluster.layout, plan.start, w->shape) == w->shape.pieces);
  RC_ASSERT(within(c.cluster.layout, plan.start.nodes, w->shape.required));
  // The promised numbers, summed up again from what the plan does.
  double gain = static_cast<double>(w->milli_gpus) / 1000 * std::min({w->wait_s, w->run_s, c.rules.horizon_s}) / 3600;
  double cost = 0;
  for (const Move& m : plan.moves) {
    const auto g = std::find_if(c.cluster.gangs.begin(), c.cluster.gangs.end(), [&](const Gang& x) { return x.id == m.id; });
    RC_ASSERT(g != c.cluster.gangs.end());
    RC_ASSERT(g->since_checkpoint_s <= c.rules.fresh_s);
    RC_ASSERT(pieces(c.cluster.layout, m.to, g->shape) == g->shape.pieces);
    RC_ASSERT(m.leaves_before == leaves_of(c.cluster.layout, g->nodes));
    const double gpu_h = static_cast<double>(g->milli_gpus()) / 3.6e6;
    cost += gpu_h * (g->since_checkpoint_s + g->restart_s);
    const double leaves = static_cast<double>(m.leaves_before) - leaves_of(c.cluster.layout, m.to.nodes);
    (leaves > 0 ? gain : cost) += std::abs(leaves) * c.rules.slowdown_per_leaf * gpu_h * g->remaining_s;
  }
  RC_ASSERT(std::abs(gain - plan.gain_gpu_h) < 1e-6);
  RC_ASSERT(std::abs(cost - plan.cost_gpu_h) < 1e-6);
  // Carried out: take() aborts if two want the same GPU, and nobody else has lost or won any.
  Tree after = before;
  apply(after, c.cluster.gangs, plan, w->shape);
  std::uint32_t start = 0;
  for (const std::uint16_t s : plan.start.slots) start += static_cast<std::uint32_t>(std::popcount(s));
  RC_ASSERT(after.free_gpus() + start == before.free_gpus());
  ++seen.plans;
  seen.several += plan.moves.size() > 1 ? 1 : 0;
}

// No plan means that no single move would have been worth it.
void check_none(const Case& c, Tree tree) {
  for (const Waiting& w : c.waiting) {
    if (tree.find(w.shape)) continue;
    const double gain = static_cast<double>(w.milli_gpus) / 1000 * std::min({w.wait_s, w.run_s, c.rules.horizon_s}) / 3600;
    for (const Gang& g : c.cluster.gangs) {
      if (g.since_checkpoint_s > c.rules.fresh_s || c.rules.slowdown_per_leaf > 0) continue;
      if (gain <= static_cast<double>(g.loss_gpu_ms()) / 3.6e6 * (1 + c.rules.margin)) continue;
      const std::size_t mark = tree.mark();
      give(tree, g);
      if (const auto start = tree.find(w.shape)) {
        tree.take(*start, w.shape.milli);
        RC_ASSERT(!tree.find(g.shape).has_value());
      }
      tree.rollback(mark);
    }
  }
}

TEST(DefragProperty, APlanCarriedOutGivesExactlyWhatItPromised) {
  Seen seen;
  EXPECT_TRUE(rc::check([&](std::uint64_t seed) {
    Prng r(seed, "defrag");
    for (int i = 0; i < 20; ++i) {
      const Case c = random_case(r);
      Tree tree = c.cluster.tree();
      const Occupancy before = tree.occupancy();
      const auto plan = plan_defrag(tree, c.cluster.layout, c.cluster.gangs, c.waiting, c.rules);
      RC_ASSERT((tree.occupancy() == before));
      if (!plan) {
        check_none(c, tree);
        continue;
      }
      check_plan(c, c.cluster.tree(), *plan, seen);
      const auto again = plan_defrag(tree, c.cluster.layout, c.cluster.gangs, c.waiting, c.rules);
      RC_ASSERT(again->why == plan->why);
    }
  }));
  std::printf("%d plans, %d of several moves\n", seen.plans, seen.several);
  EXPECT_GT(seen.plans, 50);
  EXPECT_GT(seen.several, 3);
}

}  // namespace
}  // namespace muster::decide
