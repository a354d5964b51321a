#include "fleet/cohorts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::fleet {
namespace {

FactTable fleet_of(std::size_t nodes) {
  FactTable t;
  for (std::size_t n = 0; n < nodes; ++n) {
    const std::size_t node = t.node(fmt::format("g{}", n));
    t.put(node, "", "node.product", "DGXH100");
    for (int k = 0; k < 9; ++k) t.put_absent(node, "", fmt::format("key{}", k));
  }
  return t;
}

TEST(cohorts, a_node_of_which_nothing_is_known_is_of_no_kind_also_where_there_is_one_kind) {
  FactTable t = fleet_of(8);
  t.put_unreadable(t.node("nothing"), "", "key0");
  t.put(t.node("little"), "", "node.product", "DGXH100");
  const auto kinds = cohorts_of(t, {});
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].nodes.size(), 9U);
  EXPECT_EQ(kinds[1].nodes, std::vector<std::uint32_t>{8});
  EXPECT_EQ(hardly_known(t, kinds), (std::vector<std::uint32_t>{8, 9}));
}

TEST(cohorts, half_of_what_the_kind_has_is_enough_to_be_held_against_it) {
  FactTable t = fleet_of(8);
  const std::size_t half = t.node("half"), less = t.node("less");
  for (const std::size_t n : {half, less}) t.put(n, "", "node.product", "DGXH100");
  for (int k = 0; k < 4; ++k) t.put_absent(half, "", fmt::format("key{}", k));
  for (int k = 0; k < 3; ++k) t.put_absent(less, "", fmt::format("key{}", k));
  EXPECT_EQ(hardly_known(t, cohorts_of(t, {})), std::vector<std::uint32_t>{static_cast<std::uint32_t>(less)});
}

}  // namespace
}  // namespace muster::fleet
