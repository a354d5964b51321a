#include "decide/moves/repair.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <map>
#include <set>

#include "decide/moves/trial_cluster.h"

namespace muster::decide {
namespace {

// Leaves of four nodes, pods of two leaves; eight GPUs a node.
Layout flat(std::uint32_t nodes, bool rack_scale = false) {
  Layout out;
  out.models = {"H200"};
  for (std::uint32_t n = 0; n < nodes; ++n) out.nodes.push_back({rack_scale ? n / 4 : n, n / 4, n / 8, 8, 0});
  return out;
}

Gang on(Tree& tree, std::vector<std::uint32_t> nodes, Shape shape = {}) {
  Gang g;
  g.id = {1, 0};
  g.shape = shape;
  g.shape.pieces = static_cast<std::uint32_t>(nodes.size());
  for (const std::uint32_t n : nodes) {
    g.nodes.push_back(NodeId{n});
    g.slots.push_back(0xff);
  }
  take(tree, g);
  return g;
}

std::vector<std::uint32_t> in(const Repair& r) {
  std::vector<std::uint32_t> out;
  for (const Replacement& x : r.in) out.push_back(x.node.v);
  return out;
}

TEST(Repair, AFailedNodeIsReplacedInTheSameLeaf) {
  const Layout layout = flat(16);
  Tree tree(layout);
  const Gang g = on(tree, {0, 1, 2});
  const Repair r = plan_repair(tree, layout, g, std::vector<NodeId>{NodeId{1}});
  ASSERT_TRUE(r.possible) << r.why;
  EXPECT_EQ(in(r), std::vector<std::uint32_t>{3});
  EXPECT_EQ(r.level, Level::leaf);
  EXPECT_EQ(r.leaves, 1U);
  EXPECT_EQ(r.nodes, (std::vector<NodeId>{NodeId{0}, NodeId{2}, NodeId{3}}));
  EXPECT_EQ(r.why,
            "1 of 3 nodes failed, replaced by 1 within the gang's leaf, no leaf beyond the survivors' 1, the least possible");
}

TEST(Repair, SeveralAtOnceSpillIntoOneFurtherLeafOfThePod) {
  const Layout layout = flat(24);
  Tree tree(layout);
  const Gang g = on(tree, {0, 1, 2});
  on(tree, {4, 5});
  const Repair r = plan_repair(tree, layout, g, std::vector<NodeId>{NodeId{0}, NodeId{1}});
  ASSERT_TRUE(r.possible) << r.why;
  EXPECT_EQ(in(r), (std::vector<std::uint32_t>{3, 6}));
  EXPECT_EQ(r.level, Level::pod);
  EXPECT_EQ(r.leaves, 2U);
  EXPECT_EQ(r.leaves_min, 2U);
  EXPECT_NE(r.why.find("its leaf has room for 1 of 2 pieces"), std::string::npos) << r.why;
}

TEST(Repair, SaysWhyItCannotBe) {
  const Layout layout = flat(16);
  Tree tree(layout);
  const Gang g = on(tree, {0, 1, 2, 3}, {.required = Level::leaf});
  const Repair r = plan_repair(tree, layout, g, std::vector<NodeId>{NodeId{0}});
  EXPECT_FALSE(r.possible);
  EXPECT_EQ(r.why, "1 of 4 nodes failed; spares within its leaf take 0 of 1 pieces");
  EXPECT_EQ(plan_repair(tree, layout, g, g.nodes).why, "4 of 4 nodes failed; nothing of it survives: it must be placed anew");
}

TEST(Repair, DrainedAndUnwelcomeNodesAreNotTheFirstChoice) {
  const Layout layout = flat(16);
  Tree tree(layout);
  const Gang g = on(tree, {0});
  tree.close(NodeId{1});
  tree.set_cost(NodeId{2}, 50);
  Gang two = g;
  two.nodes.push_back(NodeId{4});
  two.slots.push_back(0xff);
  two.shape.pieces = 2;
  tree.take(NodeId{4}, 0xff);
  const Repair r = plan_repair(tree, layout, two, std::vector<NodeId>{NodeId{4}});
  EXPECT_EQ(in(r), std::vector<std::uint32_t>{3});
}

TEST(Repair, ABrokenSegmentIsCompletedInItsOwnDomain) {
  const Layout layout = flat(16, true);
  Tree tree(layout);
  // Two segments of two nodes, in the domains of nodes 0..3 and 4..7.
  const Gang g = on(tree, {0, 1, 4, 5}, {.segment = 2});
  const Repair r = plan_repair(tree, layout, g, std::vector<NodeId>{NodeId{4}});
  ASSERT_TRUE(r.possible) << r.why;
  EXPECT_TRUE(in(r) == std::vector<std::uint32_t>{6} || in(r) == std::vector<std::uint32_t>{7});
  tree.take(NodeId{6}, 0xff);
  tree.take(NodeId{7}, 0x01);
  const Repair none = plan_repair(tree, layout, g, std::vector<NodeId>{NodeId{4}});
  EXPECT_FALSE(none.possible);
  EXPECT_EQ(none.why,
            "1 of 4 nodes failed; spares within its cluster take 1 of 1 pieces, but not in the NVLink domains of the broken "
            "segments");
  // Both nodes of it lost: the segment moves as a whole.
  EXPECT_EQ(in(plan_repair(tree, layout, g, std::vector<NodeId>{NodeId{4}, NodeId{5}})), (std::vector<std::uint32_t>{2, 3}));
}

// Whether a gang so spread is one the shape allows.
bool well_formed(const Layout& layout, const Shape& shape, const std::vector<std::uint32_t>& pieces) {
  const std::uint32_t s = std::max(shape.segment, 1U);
  std::map<std::uint32_t, std::uint32_t> by_domain;
  std::set<std::uint32_t> groups;
  std::uint32_t all = 0;
  for (std::uint32_t n = 0; n < pieces.size(); ++n) {
    if (pieces[n] == 0) continue;
    by_domain[layout.nodes[n].domain] += pieces[n];
    groups.insert(group_of(layout, NodeId{n}, shape.required));
    all += pieces[n];
  }
  std::uint32_t whole = 0;
  std::uint32_t rest = 0;
  std::uint32_t rests = 0;
  for (const auto& [d, k] : by_domain) {
    whole += k / s;
    if (k % s != 0) {
      rest = k % s;
      ++rests;
    }
  }
  return all == shape.pieces && groups.size() <= 1 && (rests == 0 || (rests == 1 && rest == shape.pieces % s));
}

struct Best {
  Level level = Level::core;
  std::uint32_t leaves = 0;
};

// All ways to put the lost pieces on free nodes.
void brute_force(const Layout& layout, const Shape& shape, const std::vector<std::uint32_t>& room, std::uint32_t n,
                 std::uint32_t left, std::vector<std::uint32_t>& pieces, std::optional<Best>& best) {
  if (n == room.size()) {
    if (left != 0 || !well_formed(layout, shape, pieces)) return;
    std::vector<NodeId> nodes;
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i] != 0) nodes.push_back(NodeId{i});
    }
    Best now{Level::core, leaves_of(layout, nodes)};
    for (std::uint32_t l = 0; l < kLevels; ++l) {
      std::set<std::uint32_t> groups;
      for (const NodeId x : nodes) groups.insert(group_of(layout, x, static_cast<Level>(l)));
      if (groups.size() == 1) {
        now.level = static_cast<Level>(l);
        break;
      }
    }
    if (!best || std::tuple(now.level, now.leaves) < std::tuple(best->level, best->leaves)) best = now;
    return;
  }
  for (std::uint32_t k = 0; k <= std::min(left, room[n]); ++k) {
    pieces[n] += k;
    brute_force(layout, shape, room, n + 1, left - k, pieces, best);
    pieces[n] -= k;
  }
}

struct Seen {
  int possible = 0;
  int several = 0;  // of them, of several nodes at once
};

void check_one_repair(Prng& r, Seen& seen) {
  TrialCluster c = trial_cluster(r, 9, 5);
  std::vector<Gang> wide;
  for (const Gang& x : c.gangs) {
    if (x.nodes.size() > 1) wide.push_back(x);
  }
  if (wide.empty()) return;
  Gang g = wide[r.below(wide.size())];
  std::erase_if(c.gangs, [&](const Gang& x) { return x.id != g.id && r.chance(0.4); });  // so that there are spares
  Tree tree = c.tree();
  for (std::uint32_t n = 0; n < c.layout.nodes.size(); ++n) {
    if (r.chance(0.1)) tree.close(NodeId{n});
  }
  // Asked for as loosely as it stands, or more so.
  std::uint32_t need = 0;
  for (; need < kLevels; ++need) {
    std::set<std::uint32_t> groups;
    for (const NodeId n : g.nodes) groups.insert(group_of(c.layout, n, static_cast<Level>(need)));
    if (groups.size() == 1) break;
  }
  g.shape.required = static_cast<Level>(need + r.below(kLevels - need));
  std::vector<NodeId> failed;
  for (const NodeId n : g.nodes) {
    if (r.chance(0.4)) failed.push_back(n);
  }
  if (failed.empty() || failed.size() == g.nodes.size()) return;

  std::vector<std::uint32_t> pieces(c.layout.nodes.size());
  std::vector<std::uint32_t> room(c.layout.nodes.size());
  std::uint32_t lost = 0;
  for (std::uint32_t n = 0; n < room.size(); ++n) {
    const std::uint32_t piece = g.shape.gpus == 0 ? c.layout.nodes[n].gpus : g.shape.gpus;
    const bool dead = std::find(failed.begin(), failed.end(), NodeId{n}) != failed.end();
    const bool fit = g.shape.model == kAnyModel || g.shape.model == c.layout.nodes[n].model;
    if (!dead && fit && tree.is_open(NodeId{n}))
      room[n] = static_cast<std::uint32_t>(std::popcount(tree.free_slots(NodeId{n}))) / piece;
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      if (g.nodes[i].v != n) continue;
      (dead ? lost : pieces[n]) += static_cast<std::uint32_t>(std::popcount(g.slots[i])) / piece;
    }
  }
  std::optional<Best> best;
  brute_force(c.layout, g.shape, room, 0, lost, pieces, best);
  const Repair plan = plan_repair(tree, c.layout, g, failed);
  RC_ASSERT(plan.possible == best.has_value());
  RC_ASSERT(!plan.why.empty());
  if (!plan.possible) return;
  ++seen.possible;
  seen.several += failed.size() > 1 ? 1 : 0;
  RC_ASSERT(plan.level == best->level);
  RC_ASSERT(plan.leaves == best->leaves);
  RC_ASSERT(plan.leaves_min == best->leaves);
  for (const Replacement& x : plan.in) tree.take(x.node, x.slots);  // aborts if taken
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (const std::uint16_t s : g.slots) before += static_cast<std::uint64_t>(std::popcount(s));
  for (const std::uint16_t s : plan.slots) after += static_cast<std::uint64_t>(std::popcount(s));
  if (g.shape.gpus != 0) RC_ASSERT(before == after);
  RC_ASSERT(leaves_of(c.layout, plan.nodes) == plan.leaves);
  for (const NodeId f : failed) RC_ASSERT(std::find(plan.nodes.begin(), plan.nodes.end(), f) == plan.nodes.end());
}

TEST(RepairProperty, TheRepairIsTheNearestOfAllAndTakesOnlyWhatIsFree) {
  Seen seen;
  EXPECT_TRUE(rc::check([&](std::uint64_t seed) {
    Prng r(seed, "repair");
    for (int i = 0; i < 20; ++i) check_one_repair(r, seen);
  }));
  std::printf("%d repairs, %d of several nodes\n", seen.possible, seen.several);
  EXPECT_GT(seen.possible, 100);
  EXPECT_GT(seen.several, 10);
}

TEST(Spares, AreTheQuantileOfNodesOutAtOnce) {
  // 512 nodes, one failure per node in 250 days, three days of repair: 6.1 out at one moment; P(X <= 10) = 0.95...
  const SparesAsk ask{
      .group_nodes = {512, 64, 8, 0}, .gang_nodes = {}, .failures_per_node_hour = 1 / (250.0 * 24), .repair_h = 72};
  EXPECT_EQ(spares_wanted(ask), (std::vector<std::uint32_t>{10, 2, 1, 0}));
  SparesAsk none = ask;
  none.failures_per_node_hour = 0;
  EXPECT_EQ(spares_wanted(none), (std::vector<std::uint32_t>{0, 0, 0, 0}));
  SparesAsk few = ask;
  few.gang_nodes = {64, 0, 8, 0};  // only gangs of several nodes need them
  EXPECT_EQ(spares_wanted(few), (std::vector<std::uint32_t>{2, 0, 1, 0}));
  SparesAsk bad = ask;
  bad.failures_per_node_hour = 1;
  EXPECT_EQ(spares_wanted(bad)[0], 256U);  // never more than half
}

TEST(SparesProperty, AFailureFindsASpareAsOftenAsPromised) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Prng r(seed, "spares");
    const auto nodes = static_cast<std::uint32_t>(16 + r.below(600));
    const double rate = 1e-5 + r.unit() * 3e-4;
    const double repair_h = 1 + r.unit() * 100;
    const double confidence = 0.8 + r.unit() * 0.19;
    const std::uint32_t k = spares_wanted({.group_nodes = {nodes},
                                           .gang_nodes = {},
                                           .failures_per_node_hour = rate,
                                           .repair_h = repair_h,
                                           .confidence = confidence})[0];
    // Failures as they come, watched at many moments: how often are more out than there are spares?
    std::vector<double> back;
    double now = 0;
    int looks = 0;
    int short_of = 0;
    for (int i = 0; i < 5'000; ++i) {
      now += r.exponential(1 / (nodes * rate));
      std::erase_if(back, [&](double t) { return t <= now; });
      ++looks;
      short_of += back.size() > k ? 1 : 0;
      back.push_back(now + repair_h);
    }
    RC_ASSERT(short_of <= (1 - confidence) * looks +
                              6 * std::sqrt(static_cast<double>(looks) * std::max(1.0, nodes * rate * repair_h)) * 0.5);
  }));
}

}  // namespace
}  // namespace muster::decide
