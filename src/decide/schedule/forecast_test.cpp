#include "decide/schedule/forecast.h"

#include <gtest/gtest.h>

#include "decide/schedule/schedule_fixture.h"

namespace muster::decide {
namespace {

Shape shape(std::uint32_t pieces, std::uint32_t gpus) {
  Shape s;
  s.pieces = pieces;
  s.gpus = gpus;
  return s;
}

std::vector<Forecast> forecast_of(Tree& tree, const Holding& held, const std::vector<Waiter>& w, BackfillPolicy policy = {}) {
  const auto runners = held.runners();
  const auto order = rank(w, at_s(0), {});
  const Pass pass = backfill(tree, w, order, runners, at_s(0), policy);
  return forecast(tree, w, order, runners, pass, at_s(0));
}

const Sooner* find(const Forecast& f, Remedy r) {
  for (const Sooner& s : f.sooner) {
    if (s.remedy == r) return &s;
  }
  return nullptr;
}

TEST(Forecast, EveryQueuedJobHasATimeReservedOrNot) {
  Tree tree(small_layout(2, 8, 2));
  Holding held(tree);
  ASSERT_TRUE(held.start(90, shape(2, 8), 1000));
  std::vector<Waiter> w;
  for (std::uint32_t i = 1; i <= 6; ++i) w.push_back(waiter(i, 1, 8, 100.0 * i));
  BackfillPolicy policy;
  policy.reserve = 2;
  const auto f = forecast_of(tree, held, w, policy);
  ASSERT_EQ(f.size(), 6U);
  EXPECT_TRUE(f[0].reserved);
  EXPECT_EQ(f[0].at, at_s(1000));
  EXPECT_EQ(f[0].after, (std::vector<JobId>{JobId{90, 0}}));
  EXPECT_FALSE(f[2].reserved);
  EXPECT_EQ(f[2].at, at_s(1100));  // after the first, which runs 100 s
  EXPECT_EQ(f[3].at, at_s(1200));
  for (std::size_t i = 1; i < f.size(); ++i) EXPECT_GE(f[i].at, f[i - 1].at);
  EXPECT_NE(f[0].words.find("after job 90"), std::string::npos) << f[0].words;
}

TEST(Forecast, FewerNodesWouldStartNow) {
  Tree tree(small_layout(8, 8, 8));
  Holding held(tree);
  ASSERT_TRUE(held.start(90, shape(2, 8), 1000));
  const auto f = forecast_of(tree, held, {waiter(1, 8, 8, 100)});
  ASSERT_EQ(f.size(), 1U);
  const Sooner* s = find(f[0], Remedy::fewer_gpus);
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->value, 6);
}

TEST(Forecast, AWiderLevelWouldStartNow) {
  Tree tree(small_layout(4, 8, 2));
  Holding held(tree);
  ASSERT_TRUE(held.start(90, shape(1, 8), 1000));
  ASSERT_TRUE(held.start(91, shape(1, 8), 2000));  // same leaf: fewest leaves
  ASSERT_TRUE(held.start(92, shape(1, 8), 3000));
  Waiter w = waiter(1, 1, 8, 100);
  std::vector<Waiter> all = {w, waiter(2, 2, 4, 100)};
  all[1].shape.required = Level::node;
  all[0].priority = 1;
  const auto f = forecast_of(tree, held, all);
  ASSERT_EQ(f.size(), 1U);  // the first took the last node
  EXPECT_EQ(find(f[0], Remedy::lower_level), nullptr);
  Tree two(small_layout(2, 8, 2));
  Holding half(two);
  ASSERT_TRUE(half.start(90, shape(1, 5), 1000));
  ASSERT_TRUE(half.start(91, shape(1, 5), 1000));
  Waiter tight = waiter(3, 2, 3, 100);
  tight.shape.required = Level::node;
  const auto g = forecast_of(two, half, {tight});
  ASSERT_EQ(g.size(), 1U);
  EXPECT_NE(find(g[0], Remedy::lower_level), nullptr);
}

TEST(Forecast, AShorterRunWouldStartNow) {
  Tree tree(small_layout(2, 8, 2));
  Holding held(tree);
  ASSERT_TRUE(held.start(90, shape(1, 8), 7200));
  std::vector<Waiter> w = {waiter(1, 2, 8, 100), waiter(2, 1, 8, 86400)};
  w[0].priority = 1;
  const auto f = forecast_of(tree, held, w);
  ASSERT_EQ(f.size(), 2U);
  const Sooner* s = find(f[1], Remedy::shorter);
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->value, 7200);
}

TEST(Forecast, WhatTheClusterCannotHoldIsNeverStarted) {
  Tree tree(small_layout(2, 8, 2));
  Holding held(tree);
  const auto f = forecast_of(tree, held, {waiter(1, 3, 8, 100)});
  ASSERT_EQ(f.size(), 1U);
  EXPECT_FALSE(f[0].ever);
  EXPECT_EQ(f[0].at, kNever);
}

TEST(Forecast, TheTreeIsAsItWas) {
  Tree tree(small_layout(3, 8, 3));
  Holding held(tree);
  ASSERT_TRUE(held.start(90, shape(2, 8), 1000));
  const auto before = tree.occupancy();
  BackfillPolicy policy;
  policy.reserve = 1;
  const std::vector<Waiter> w = {waiter(1, 3, 8, 100), waiter(2, 2, 8, 5000), waiter(3, 3, 8, 50)};
  const auto order = rank(w, at_s(0), {});
  const auto runners = held.runners();
  const Pass pass = backfill(tree, w, order, runners, at_s(0), policy);
  ASSERT_TRUE(pass.starts.empty());
  forecast(tree, w, order, runners, pass, at_s(0));
  EXPECT_EQ(tree.occupancy(), before);
}

}  // namespace
}  // namespace muster::decide
