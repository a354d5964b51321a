// Power caps are never passed, whatever is placed, in whatever order.
#include "decide/energy/power.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::decide {
namespace {

constexpr double kBusy_w = 10'000;
constexpr double kIdle_w = 1'700;

Site site(std::uint32_t racks, std::uint32_t per_rack, std::uint32_t racks_per_row) {
  Site s;
  for (std::uint32_t r = 0; r < racks; ++r) {
    s.racks.push_back("rack");
    if (racks_per_row > 0) s.rack_row.push_back(r / racks_per_row);
    for (std::uint32_t i = 0; i < per_rack; ++i) {
      NodeSpec n;
      n.rack = n.leaf = r;
      s.nodes.push_back(n);
    }
  }
  return s;
}

Layout layout(const Site& s) {
  Layout l;
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) l.nodes.push_back({n, s.nodes[n].leaf, 0, 8, 0});
  return l;
}

RC_GTEST_PROP(PowerBudget, no_placement_passes_a_cap, ()) {
  const auto racks = *rc::gen::inRange<std::uint32_t>(1, 7);
  const auto per_rack = *rc::gen::inRange<std::uint32_t>(1, 5);
  const auto per_row = *rc::gen::inRange<std::uint32_t>(0, 4);
  Site s = site(racks, per_rack, per_row);
  const double all_idle = per_rack * kIdle_w;
  s.rack_kw = (all_idle + *rc::gen::inRange(0, 40'000)) / 1000;
  s.row_kw = per_row > 0 ? (all_idle * per_row + *rc::gen::inRange(0, 90'000)) / 1000 : 0;
  const bool limited = *rc::gen::arbitrary<bool>();
  if (limited) s.power_limit_kw = (all_idle * racks + *rc::gen::inRange(0, 120'000)) / 1000;
  PowerBudget budget(s, kBusy_w, kIdle_w);
  Tree tree(layout(s));
  std::vector<std::pair<Choice, bool>> running;
  for (int step = 0; step < 40; ++step) {
    budget.apply(tree);
    Shape shape;
    shape.pieces = *rc::gen::inRange<std::uint32_t>(1, 4);
    shape.gpus = *rc::gen::element<std::uint32_t>(0, 4);
    if (*rc::gen::inRange(0, 3) > 0) {
      if (const auto c = tree.find(shape)) {
        tree.take(*c);
        for (const NodeId n : c->nodes) budget.set_busy(n, true);
        running.emplace_back(*c, true);
      }
    } else if (!running.empty()) {
      const auto i = *rc::gen::inRange<std::size_t>(0, running.size());
      tree.give(running[i].first);
      for (const NodeId n : running[i].first.nodes) budget.set_busy(n, tree.free_slots(n) != 0xff);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      budget.set_usable(NodeId{*rc::gen::inRange<std::uint32_t>(0, racks * per_rack)}, *rc::gen::arbitrary<bool>());
    }
    for (std::uint32_t r = 0; r < racks; ++r) RC_ASSERT(budget.rack_draw_w(r) <= s.rack_kw * 1000 + 1e-6);
    for (std::uint32_t r = 0; per_row > 0 && r < (racks + per_row - 1) / per_row; ++r) {
      RC_ASSERT(budget.row_draw_w(r) <= s.row_kw * 1000 + 1e-6);
    }
    RC_ASSERT(!limited || budget.site_draw_w() <= s.power_limit_kw * 1000 + 1e-6);
  }
}

TEST(PowerBudget, opens_as_many_as_the_headroom_allows_and_more_when_work_ends) {
  Site s = site(1, 4, 0);
  s.rack_kw = 4 * 1.7 + 2 * 8.3;  // two of four may be busy
  PowerBudget b(s, kBusy_w, kIdle_w);
  Tree tree(layout(s));
  b.apply(tree);
  EXPECT_EQ(tree.free_nodes(), 2U);
  tree.take(NodeId{0}, 0xff);
  b.set_busy(NodeId{0}, true);
  b.apply(tree);
  EXPECT_EQ(tree.free_nodes(), 1U);
  b.set_usable(NodeId{1}, false);
  b.apply(tree);
  EXPECT_FALSE(tree.is_open(NodeId{1}));
  EXPECT_TRUE(tree.is_open(NodeId{2})) << "the watts of a drained node go to another";
  tree.give(NodeId{0}, 0xff);
  b.set_busy(NodeId{0}, false);
  b.apply(tree);
  EXPECT_EQ(tree.free_nodes(), 2U);
}

TEST(PowerBudget, the_limit_of_the_site_is_shared_by_all_rows) {
  Site s = site(4, 2, 2);
  s.power_limit_kw = 8 * 1.7 + 3 * 8.3;  // three of eight may be busy, wherever they stand
  PowerBudget b(s, kBusy_w, kIdle_w);
  Tree tree(layout(s));
  b.apply(tree);
  EXPECT_EQ(tree.free_nodes(), 3U);
  tree.take(NodeId{0}, 0xff);
  b.set_busy(NodeId{0}, true);
  b.apply(tree);
  EXPECT_EQ(tree.free_nodes(), 2U);
  for (std::uint32_t n = 1; n < 4; ++n) b.set_usable(NodeId{n}, false);
  b.apply(tree);
  EXPECT_EQ(tree.free_nodes(), 2U) << "what one row cannot use, the next one may";
  EXPECT_TRUE(tree.is_open(NodeId{4}));
}

TEST(PowerBudget, a_cap_lowered_closes_and_no_cap_opens_everything) {
  Site s = site(4, 2, 2);
  PowerBudget b(s, kBusy_w, kIdle_w);
  Tree tree(layout(s));
  b.apply(tree);
  EXPECT_EQ(tree.free_nodes(), 8U);
  b.set_row_cap(1, 4 * kIdle_w + 8'300);
  b.apply(tree);
  EXPECT_EQ(tree.free_nodes(), 5U);
  b.set_row_cap(1, 0);
  b.apply(tree);
  EXPECT_EQ(tree.free_nodes(), 8U);
}

}  // namespace
}  // namespace muster::decide
