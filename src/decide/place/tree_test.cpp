// Placement: what it promises for clusters people have, and for random ones.
#include "decide/place/tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>

#include "decide/place/certificate.h"
#include "decide/place/random_cluster.h"

namespace muster::decide {
namespace {

// Leaves of the sizes a real site has; each domain is a node.
Layout ragged() {
  Layout out;
  std::uint32_t leaf = 0;
  for (const std::uint32_t size : {1, 1, 2, 2, 2, 3, 3, 3, 5, 5, 6, 6, 6, 8, 11}) {
    for (std::uint32_t i = 0; i < size; ++i) {
      out.nodes.push_back({static_cast<std::uint32_t>(out.nodes.size()), leaf, 0, 8, 0});
    }
    ++leaf;
  }
  return out;
}

// NVL72: 18 nodes of 4 GPUs share a domain; two of these to a leaf.
Layout nvl72(std::uint32_t racks) {
  Layout out;
  for (std::uint32_t n = 0; n < racks * 18; ++n) out.nodes.push_back({n / 18, n / 36, n / 144, 4, 0});
  return out;
}

Layout uniform(std::uint32_t nodes, std::uint32_t per_leaf, std::uint32_t per_pod) {
  Layout out;
  for (std::uint32_t n = 0; n < nodes; ++n) out.nodes.push_back({n, n / per_leaf, n / per_pod, 8, 0});
  return out;
}

Choice place(Tree& tree, const Shape& shape) {
  auto c = tree.find(shape);
  EXPECT_TRUE(c.has_value());
  if (!c) return {};
  tree.take(*c, shape.milli);
  return *c;
}

TEST(Place, TheSmallestLeafThatHoldsAGangIsTaken) {
  Tree tree(ragged());
  const Choice c = place(tree, {.pieces = 5});
  EXPECT_EQ(c.certificate.level, Level::leaf);
  EXPECT_EQ(c.certificate.group, 8U);  // of the two leaves of 5, the first
  EXPECT_EQ(place(tree, {.pieces = 6}).certificate.group, 10U);
  EXPECT_EQ(place(tree, {.pieces = 8}).certificate.group, 13U);
}

TEST(Place, AGangOverRaggedLeavesUsesTheFewest) {
  Tree tree(ragged());
  const Choice c = place(tree, {.pieces = 25});
  EXPECT_EQ(c.certificate.level, Level::pod);
  EXPECT_EQ(c.certificate.leaves, 3U);  // 11 + 8 + 6
  EXPECT_EQ(c.certificate.best_below, (std::vector<std::uint32_t>{1, 1, 11}));
}

TEST(Place, LargeHolesStayWholeWhereSmallerOnesDo) {
  Tree tree(ragged());
  const Choice c = place(tree, {.pieces = 14});  // 8 + 6, and not 11 + 3
  EXPECT_EQ(c.certificate.leaves, 2U);
  EXPECT_EQ(place(tree, {.pieces = 11}).certificate.leaves, 1U);
}

TEST(Place, SegmentsShareAnNvlinkDomain) {
  Tree tree(nvl72(4));
  const Choice c = place(tree, {.pieces = 20, .segment = 4});  // five segments of 16 GPUs: four fit a rack
  EXPECT_EQ(c.certificate.level, Level::leaf);
  std::array<std::uint32_t, 4> by_rack{};
  for (const NodeId n : c.nodes) ++by_rack[n.v / 18];
  for (const std::uint32_t n : by_rack) EXPECT_EQ(n % 4, 0U);
  EXPECT_EQ(place(tree, {.pieces = 16, .segment = 16}).certificate.level, Level::domain);
  EXPECT_FALSE(tree.ever_fits({.pieces = 19, .segment = 19}));
}

TEST(Place, PartOfANodeGoesWhereANodeIsBrokenAlready) {
  Tree tree(uniform(64, 8, 32));
  const Choice first = place(tree, {.pieces = 1, .gpus = 2});
  const Choice second = place(tree, {.pieces = 1, .gpus = 4});
  EXPECT_EQ(first.nodes, second.nodes);
  EXPECT_EQ(first.slots[0] & second.slots[0], 0);
  EXPECT_EQ(second.slots[0], 0xf0);  // a half of its own
  EXPECT_EQ(tree.free_nodes(), 63U);
}

TEST(Place, ASmallJobSparesTheLeafThatIsWhole) {
  Tree tree(uniform(16, 8, 16));
  place(tree, {.pieces = 3});
  EXPECT_LT(place(tree, {.pieces = 1, .gpus = 1}).nodes[0].v, 8U);
  EXPECT_EQ(place(tree, {.pieces = 8}).certificate.leaves, 1U);
}

TEST(Place, SharesFillASharedGpuBeforeBreakingAnother) {
  Tree tree(uniform(4, 4, 4));
  const Choice a = place(tree, {.pieces = 1, .gpus = 1, .milli = 300});
  const Choice b = place(tree, {.pieces = 1, .gpus = 1, .milli = 700});
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(a.slots, b.slots);
  const Choice c = place(tree, {.pieces = 1, .gpus = 1, .milli = 500});
  EXPECT_NE(a.slots, c.slots);
  EXPECT_EQ(tree.free_gpus(), 30U);
  tree.give(a, 300);
  EXPECT_EQ(place(tree, {.pieces = 1, .gpus = 1, .milli = 250}).slots, a.slots);  // 300 left there, 500 on the other
}

TEST(Place, AModelIsHonoured) {
  Layout layout = uniform(8, 4, 8);
  layout.models = {"h100", "h200"};
  for (std::uint32_t n = 4; n < 8; ++n) layout.nodes[n].model = 1;
  Tree tree(layout);
  EXPECT_GE(place(tree, {.pieces = 1, .model = 1}).nodes[0].v, 4U);
  EXPECT_FALSE(tree.find({.pieces = 4, .model = 1}));
  EXPECT_FALSE(tree.find({.pieces = 1, .model = 2}));
}

TEST(Place, ARequiredLevelIsHonoured) {
  Tree tree(uniform(16, 4, 8));
  EXPECT_FALSE(tree.find({.pieces = 5, .required = Level::leaf}));
  EXPECT_FALSE(tree.ever_fits({.pieces = 9, .required = Level::pod}));
  EXPECT_EQ(place(tree, {.pieces = 5, .required = Level::pod}).certificate.level, Level::pod);
  EXPECT_FALSE(tree.find({.pieces = 8, .required = Level::leaf}));
}

TEST(Place, CostDecidesBetweenEqualLeavesAndNeverAddsOne) {
  Tree tree(uniform(16, 4, 16));
  for (std::uint32_t n = 0; n < 8; ++n) tree.set_cost({n}, 50);
  EXPECT_EQ(place(tree, {.pieces = 3}).certificate.group, 2U);
  EXPECT_EQ(place(tree, {.pieces = 4}).certificate.group, 3U);
  EXPECT_EQ(place(tree, {.pieces = 4}).certificate.leaves, 1U);  // a dear leaf rather than two cheap ones
}

TEST(Place, AClosedNodeTakesNothingNew) {
  Tree tree(uniform(4, 4, 4));
  const Choice c = place(tree, {.pieces = 1});
  tree.close(c.nodes[0]);
  tree.close(c.nodes[0]);
  tree.give(c);
  EXPECT_EQ(tree.free_nodes(), 3U);
  EXPECT_FALSE(tree.find({.pieces = 4}));
  tree.open(c.nodes[0]);
  EXPECT_TRUE(tree.find({.pieces = 4}));
}

TEST(Place, MarksNestAndReleaseKeeps) {
  Tree tree(uniform(8, 4, 8));
  const auto outer = tree.mark();
  place(tree, {.pieces = 2});
  const auto inner = tree.mark();
  place(tree, {.pieces = 2});
  tree.rollback(inner);
  EXPECT_EQ(tree.free_nodes(), 6U);
  tree.rollback(outer);
  EXPECT_EQ(tree.free_nodes(), 8U);
  const auto kept = tree.mark();
  place(tree, {.pieces = 2});
  tree.release(kept);
  EXPECT_EQ(tree.free_nodes(), 6U);
}

TEST(Place, GroupsThatCrossAreSplitAlongTheOuterOne) {
  Layout layout = uniform(4, 4, 4);
  for (auto& n : layout.nodes) n.domain = 0;  // one domain over two leaves
  layout.nodes[2].leaf = layout.nodes[3].leaf = 1;
  const Layout clean = nested(layout);
  EXPECT_EQ(clean.nodes[1].domain, 0U);
  EXPECT_EQ(clean.nodes[2].domain, 1U);
  EXPECT_EQ(clean.nodes[3].domain, 1U);
  EXPECT_FALSE(Tree(layout).ever_fits({.pieces = 3, .segment = 3}));
}

TEST(Place, LeavesWithVeryMuchRoomAreToldApartToo) {
  Layout layout;  // 200, 300 and 250 nodes of 8: above a thousand pieces of one GPU each
  std::uint32_t leaf = 0;
  for (const std::uint32_t size : {200, 300, 250}) {
    for (std::uint32_t i = 0; i < size; ++i)
      layout.nodes.push_back({static_cast<std::uint32_t>(layout.nodes.size()), leaf, 0, 8, 0});
    ++leaf;
  }
  Tree tree(layout);
  EXPECT_EQ(place(tree, {.pieces = 1700, .gpus = 1}).certificate.group, 2U);
  EXPECT_EQ(place(tree, {.pieces = 2000, .gpus = 1}).certificate.group, 1U);
  EXPECT_EQ(place(tree, {.pieces = 2200, .gpus = 1}).certificate.leaves, 3U);  // 1,600, 400 and 300 are left
  EXPECT_FALSE(tree.find({.pieces = 101, .gpus = 1}));
}

TEST(Place, TheCertificateReadsAsASentence) {
  Tree tree(ragged());
  const Shape shape{.pieces = 25};
  EXPECT_EQ(
      explain(tree.find(shape)->certificate, shape),
      "25 pieces (a whole node each) within pod 0, on 3 leaves. No node could take more than 1. No NVLink domain could take "
      "more than 1. No leaf could take more than 11. No choice inside pod 0 could have used fewer leaves at that moment, and "
      "none on an empty cluster either.");
}

TEST(Place, TheCheckerRefusesWhatIsNotTrue) {
  const Layout layout = ragged();
  Tree tree(layout);
  place(tree, {.pieces = 8});
  const Shape shape{.pieces = 14};
  const Occupancy now = tree.occupancy();
  const Choice good = *tree.find(shape);
  const auto refused = [&](auto change) {
    Choice bad = good;
    change(bad);
    return !certificate_holds(layout, now, shape, bad);
  };
  EXPECT_TRUE(certificate_holds(layout, now, shape, good));
  EXPECT_TRUE(refused([](Choice& c) { ++c.certificate.leaves_min; }));
  EXPECT_TRUE(refused([](Choice& c) { ++c.certificate.leaves; }));
  EXPECT_TRUE(refused([](Choice& c) { --c.certificate.leaves_empty; }));
  EXPECT_TRUE(refused([](Choice& c) { ++c.certificate.best_below[2]; }));
  EXPECT_TRUE(refused([](Choice& c) {
    c.certificate.level = Level::leaf;
    c.certificate.best_below.pop_back();
  }));
  EXPECT_TRUE(refused([](Choice& c) { c.nodes[0] = {45}; }));  // taken already: a node of the leaf of 8
  EXPECT_TRUE(refused([](Choice& c) { c.slots[0] = 0x7f; }));
  EXPECT_TRUE(refused([](Choice& c) {
    c.nodes.pop_back();
    c.slots.pop_back();
  }));
}

RC_GTEST_PROP(PlaceProperty, EveryChoiceIsFreeAndItsCertificateTrue, (std::uint32_t seed, bool costs)) {
  Prng r(seed, "cluster");
  const Layout layout = random_layout(r);
  Tree tree(layout);
  std::vector<Running> running;
  for (int step = 0; step < 40; ++step) {
    churn(tree, running, r, costs);
    const Shape shape = random_shape(r);
    const Occupancy before = tree.occupancy();
    const auto choice = tree.find(shape);
    RC_ASSERT(tree.occupancy() == before);
    RC_ASSERT(choice.has_value() == any_choice_exists(layout, before, shape));
    RC_ASSERT(tree.may_fit(shape) == choice.has_value());
    RC_ASSERT(tree.ever_fits(shape) == any_choice_exists(layout, Tree(layout).occupancy(), shape));
    if (!choice) continue;
    std::string why_not;
    if (!certificate_holds(layout, before, shape, *choice, &why_not)) RC_FAIL(why_not);
  }
}

RC_GTEST_PROP(PlaceProperty, WhatIsFreeIsWhatWasNotTaken, (std::uint32_t seed)) {
  Prng r(seed, "cluster");
  const Layout layout = random_layout(r);
  Tree tree(layout);
  std::vector<Running> running;
  for (int step = 0; step < 60; ++step) churn(tree, running, r, true);
  Occupancy sum = Tree(layout).occupancy();
  for (const Running& job : running) {
    for (std::size_t i = 0; i < job.choice.nodes.size(); ++i) {
      auto& node = sum.nodes[job.choice.nodes[i].v];
      for (std::uint32_t g = 0; g < node.taken.size(); ++g) {
        if ((job.choice.slots[i] >> g & 1) == 0) continue;
        node.taken[g] = static_cast<std::uint16_t>(node.taken[g] + job.milli);
        RC_ASSERT(node.taken[g] <= 1000);
      }
    }
  }
  std::uint32_t gpus = 0, nodes = 0;
  const Occupancy now = tree.occupancy();
  for (std::size_t n = 0; n < sum.nodes.size(); ++n) {
    RC_ASSERT(now.nodes[n].taken == sum.nodes[n].taken);
    std::uint32_t free = 0;
    for (const auto t : now.nodes[n].taken) free += t == 0 ? 1 : 0;
    RC_ASSERT(free == static_cast<std::uint32_t>(std::popcount(now.nodes[n].free)));
    if (!now.nodes[n].open) continue;
    gpus += free;
    nodes += free == now.nodes[n].taken.size() ? 1 : 0;
  }
  RC_ASSERT(tree.free_gpus() == gpus);
  RC_ASSERT(tree.free_nodes() == nodes);
}

RC_GTEST_PROP(PlaceProperty, RollbackRestoresTheExactState, (std::uint32_t seed)) {
  Prng r(seed, "cluster");
  Tree tree(random_layout(r));
  std::vector<Running> running;
  for (int step = 0; step < 30; ++step) churn(tree, running, r, true);
  const Occupancy before = tree.occupancy();
  const std::uint32_t gpus = tree.free_gpus(), nodes = tree.free_nodes();
  const auto mark = tree.mark();
  auto tried = running;
  for (int step = 0; step < 15; ++step) churn(tree, tried, r, true);
  tree.mark();
  for (int step = 0; step < 15; ++step) churn(tree, tried, r, true);
  tree.rollback(mark);
  RC_ASSERT(tree.occupancy() == before);
  RC_ASSERT(tree.free_gpus() == gpus && tree.free_nodes() == nodes);
  for (const Running& job : running) tree.give(job.choice, job.milli);
  for (std::uint32_t n = 0; n < tree.nodes(); ++n) tree.open({n});
  RC_ASSERT(tree.free_nodes() == tree.nodes());
}

// The answer depends on what is taken, closed and dear, never on how that came to be or on what was asked before.
RC_GTEST_PROP(PlaceProperty, TheSameStateGivesTheSameAnswer, (std::uint32_t seed)) {
  Prng r(seed, "cluster");
  const Layout layout = random_layout(r);
  Tree tree(layout);
  std::vector<Running> running;
  for (int step = 0; step < 60; ++step) churn(tree, running, r, true);
  Tree fresh(layout);
  const Occupancy state = tree.occupancy();
  for (std::uint32_t n = 0; n < state.nodes.size(); ++n) {
    if (!state.nodes[n].open) fresh.close({n});
    fresh.set_cost({n}, state.nodes[n].cost);
    for (std::uint32_t g = 0; g < state.nodes[n].taken.size(); ++g) {
      if (state.nodes[n].taken[g] > 0) fresh.take({n}, static_cast<std::uint16_t>(1U << g), state.nodes[n].taken[g]);
    }
  }
  for (int i = 0; i < 20; ++i) {
    const Shape shape = random_shape(r);
    const auto a = tree.find(shape), b = fresh.find(shape);
    RC_ASSERT(a.has_value() == b.has_value());
    if (!a) continue;
    RC_ASSERT(a->nodes == b->nodes && a->slots == b->slots);
    RC_ASSERT(a->certificate.group == b->certificate.group && a->certificate.leaves == b->certificate.leaves);
  }
}

}  // namespace
}  // namespace muster::decide
