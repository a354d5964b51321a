#include "fleet/golden.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fleet/racks.h"

namespace muster::fleet {
namespace {

FactBook small_book() {
  FactBook book;
  const auto add = [&](std::string key, FactLayer layer, FactKind kind, std::string of = "") {
    book.at.emplace(key, book.rows.size());
    book.rows.push_back({std::move(key), std::move(of), layer, kind, "", ""});
  };
  add("node.serial", FactLayer::identity, FactKind::identity);
  add("driver.loaded", FactLayer::driver, FactKind::version);
  add("memory.gib", FactLayer::hardware, FactKind::number);
  add("vbios.version", FactLayer::firmware, FactKind::version, "gpu");
  return book;
}

// Racks of eight: r1n1 to r1n8, r2n1 ...
FactTable fleet_of(std::size_t nodes) {
  FactTable t;
  for (std::size_t n = 0; n < nodes; ++n) {
    const std::size_t node = t.node(fmt::format("r{}n{}", n / 8 + 1, n % 8 + 1));
    t.put(node, "", "node.product", "DGXH100");
    t.put(node, "", "node.serial", fmt::format("serial {}", n));
    t.put(node, "", "driver.loaded", "580.159.04");
    t.put(node, "", "memory.gib", n % 3 == 0 ? "2015" : "2016");
    t.put(node, "", "net.gateway", fmt::format("10.{}.0.1", n / 8));
    t.put_absent(node, "", "ofed.version");
    for (int g = 0; g < 4; ++g) {
      t.put(node, fmt::format("gpu{}", g), "gpu.model", "NVIDIA H100 80GB HBM3");
      t.put(node, fmt::format("gpu{}", g), "vbios.version", "96.00.99");
    }
  }
  return t;
}

TEST(golden, a_clean_fleet_with_serials_and_a_gateway_of_each_rack_has_no_differences) {
  const FactTable t = fleet_of(64);
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  ASSERT_EQ(g.cohorts.size(), 1u);
  EXPECT_EQ(g.cohorts[0].name, "DGXH100, 4 x NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(g.differences.empty());
  EXPECT_TRUE(g.undecided.empty());
}

TEST(golden, one_value_that_differs_is_found_with_what_the_others_have) {
  FactTable t = fleet_of(64);
  t.put(5, "", "driver.loaded", "570.133.20");
  t.put(9, "", "ofed.version", "24.10");
  t.put_absent(17, "", "driver.loaded");
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  ASSERT_EQ(g.differences.size(), 3u);
  EXPECT_EQ(g.differences[0].node, 5u);
  EXPECT_EQ(g.differences[0].wanted, "580.159.04");
  EXPECT_NEAR(g.differences[0].share, 62.0 / 64, 1e-9);
  EXPECT_GT(g.differences[0].surprise_bits, 4);
  EXPECT_TRUE(g.differences[1].wanted_absent);
  EXPECT_EQ(g.differences[2].has, kFactAbsent);
}

TEST(golden, what_nobody_looked_at_or_may_read_is_no_difference) {
  FactTable t = fleet_of(64);
  t.put_unreadable(5, "", "driver.loaded");
  t.node("r9n1");
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  EXPECT_TRUE(g.differences.empty());
}

TEST(golden, a_split_is_told_and_nobody_is_called_wrong) {
  FactTable t = fleet_of(64);
  for (std::size_t n = 0; n < 64; n += 3) t.put(n, "", "driver.loaded", "570.133.20");
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  EXPECT_TRUE(g.differences.empty());
  ASSERT_EQ(g.undecided.size(), 1u);
  ASSERT_EQ(g.undecided[0].split.size(), 2u);
  EXPECT_EQ(g.undecided[0].split[0].second, 42u);
}

TEST(golden, what_the_book_knows_is_a_setting_however_few_nodes_there_are_and_however_many_values) {
  FactTable t = fleet_of(17);
  for (std::size_t n = 0; n < 17; ++n) {
    t.put(n, "", "driver.loaded", n < 8 ? "570.133.20" : n < 16 ? "580.159.04" : "535.1");
    t.put(n, "", "net.gateway", "10.0.0.1");
    t.put(n, "", "of.nobody", n < 8 ? "a" : n < 16 ? "b" : "c");
    t.put(n, "", "badge", fmt::format("{}x", n / 2));
  }
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  ASSERT_EQ(g.undecided.size(), 2u) << "three values of 17 are no names, of whichever key";
  EXPECT_EQ(t.columns()[g.undecided[0].column].key, "driver.loaded");
  ASSERT_EQ(g.own.size(), 1u) << "nine of 17 are, of a key that the book does not know";
  EXPECT_EQ(t.columns()[g.own[0].second].key, "badge");
  for (std::size_t n = 0; n < 17; ++n) t.put(n, "", "driver.loaded", fmt::format("{}.1", 400 + 10 * n));
  EXPECT_EQ(hold_against_kind(t, small_book(), {}, {}).undecided.size(), 2u) << "and the driver is one with 17 values too";
}

TEST(golden, a_wrong_gateway_is_found_within_its_rack) {
  FactTable t = fleet_of(64);
  t.put(10, "", "net.gateway", "10.0.0.1");
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  ASSERT_EQ(g.differences.size(), 1u);
  EXPECT_EQ(g.differences[0].wanted, "10.1.0.1");
}

TEST(golden, one_gpu_differs_from_those_beside_it_where_the_fleet_does_not_agree) {
  FactTable t = fleet_of(64);
  for (std::size_t n = 0; n < 32; ++n) {
    for (int g = 0; g < 4; ++g) t.put(n, fmt::format("gpu{}", g), "vbios.version", "96.00.74");
  }
  t.put(3, "gpu2", "vbios.version", "96.00.99");
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  ASSERT_EQ(g.differences.size(), 1u);
  EXPECT_EQ(g.differences[0].node, 3u);
  EXPECT_EQ(g.differences[0].wanted, "96.00.74");
  EXPECT_EQ(g.undecided.size(), 4u);
}

TEST(golden, a_declaration_holds_against_the_majority) {
  FactTable t = fleet_of(64);
  t.put(5, "", "driver.loaded", "590.1");
  const Declaration d{"", "driver.loaded", "590.1", false, {}, {{"node.product", "DGXH100"}}, "golden.yaml:3"};
  const Golden g = hold_against_kind(t, small_book(), {d}, {});
  EXPECT_EQ(g.differences.size(), 63u);
  EXPECT_EQ(g.differences[0].basis, Basis::declared);
  EXPECT_EQ(g.differences[0].source, "golden.yaml:3");
  const Declaration none{"", "driver.loaded", "590.1", false, {"elsewhere"}, {}, "golden.yaml:9"};
  EXPECT_FALSE(hold_against_kind(t, small_book(), {none}, {}).notes.empty());
  const Declaration parts{"gpu*", "vbios.version", "97.0", false, {"r1n1"}, {}, "golden.yaml:12"};
  EXPECT_EQ(hold_against_kind(t, small_book(), {parts}, {}).differences.size(), 5u);  // and the driver of one
}

TEST(golden, a_node_of_which_a_gpu_is_gone_stays_with_its_kind) {
  FactTable t = fleet_of(64);
  for (std::size_t n = 0; n < 64; ++n) t.put(n, "", "gpu.count", n == 7 ? "3" : "4");
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  EXPECT_EQ(g.cohorts.size(), 1u);
  ASSERT_EQ(g.differences.size(), 1u);
  EXPECT_EQ(g.differences[0].wanted, "4");
}

TEST(golden, other_hardware_is_another_kind_and_few_nodes_are_compared_with_nobody) {
  FactTable t = fleet_of(64);
  const std::size_t login = t.node("login1");
  t.put(login, "", "node.product", "R760");
  t.put(login, "", "driver.loaded", "535.1");
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  EXPECT_EQ(g.cohorts.size(), 2u);
  EXPECT_TRUE(g.differences.empty());
  ASSERT_FALSE(g.notes.empty());
  EXPECT_NE(g.notes[0].find("login1"), std::string::npos);
}

TEST(racks, come_from_names_where_no_fact_tells_them) {
  const FactTable t = fleet_of(16);
  const auto racks = racks_of(t);
  EXPECT_EQ(racks[0], racks[7]);
  EXPECT_NE(racks[0], racks[8]);
  FactTable flat;
  for (int n = 0; n < 16; ++n) flat.node(fmt::format("gpu{:03}", n));
  for (const auto r : racks_of(flat)) EXPECT_EQ(r, 0u);
}

TEST(golden, few_that_know_do_not_speak_for_the_many_that_do_not) {
  FactTable t = fleet_of(64);
  for (std::size_t n = 0; n < 5; ++n) t.put(n, "", "governor", n == 0 ? "powersave" : "performance");
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  EXPECT_TRUE(g.differences.empty());
  ASSERT_EQ(g.undecided.size(), 1u);
  EXPECT_EQ(g.undecided[0].unknown, 59u);
}

TEST(golden, a_text_that_says_that_nobody_knows_is_no_value) {
  FactTable t = fleet_of(64);
  t.put(5, "", "driver.loaded", "N/A");
  t.put(6, "", "driver.loaded", "unknown");
  t.put(7, "", "driver.loaded", "[Unknown Error]");
  t.put(9, "", "driver.loaded", "570.133.20");
  const Golden g = hold_against_kind(t, small_book(), {}, {});
  ASSERT_EQ(g.differences.size(), 1u);
  EXPECT_EQ(g.differences[0].node, 9u);
  EXPECT_EQ(g.differences[0].unknown, 3u);
}

TEST(golden, a_version_in_a_package_and_one_with_a_zero_more_are_the_same_version) {
  FactTable t = fleet_of(64);
  t.put(5, "", "driver.loaded", "580.159.04-1");
  t.put(6, "", "driver.loaded", "580.159.4");
  t.put(7, "", "driver.loaded", "1:580.159.04-1ubuntu1");
  EXPECT_TRUE(hold_against_kind(t, small_book(), {}, {}).differences.empty());
  FactTable kernels = fleet_of(64);
  for (std::size_t n = 0; n < 64; ++n) kernels.put(n, "", "driver.loaded", n == 5 ? "5.15.0-1050-nvidia" : "5.15.0-1063-nvidia");
  EXPECT_EQ(hold_against_kind(kernels, small_book(), {}, {}).differences.size(), 1u);
}

}  // namespace
}  // namespace muster::fleet
