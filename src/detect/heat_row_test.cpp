// Rows that grow hot are found before they throttle, and only those.
#include "detect/heat_row.h"

#include <gtest/gtest.h>

namespace muster::detect {
namespace {

struct Rows {
  State s;
  std::unique_ptr<HeatRow> detector;
  Time mono = Time{0} + hours(1);
  Signs signs;
  std::vector<Body> measured;

  Rows() {
    s.policy = default_policy();
    for (std::uint32_t n = 0; n < 8; ++n) {
      NodeSpec spec;
      spec.rack = n / 2;
      s.site.nodes.push_back(spec);
    }
    s.site.racks = {"a", "b", "c", "d"};
    s.site.rack_row = {0, 0, 1, 1};
    s.nodes.resize(8);
    detector = std::make_unique<HeatRow>(s.site);
  }
  // A minute in which every node reports; row 1 breathes `inlet_c`.
  void minute(double inlet_c, double gpu_c) {
    signs = {};
    measured.clear();
    mono = mono + minutes(1);
    for (std::uint32_t n = 0; n < 8; ++n) {
      const bool hot = n >= 4;
      detector->on_sample({mono, NodeId{n}, -1, Field::inlet_temp_c, hot ? inlet_c : 24}, mono);
      detector->on_sample({mono, NodeId{n}, 3, Field::gpu_temp_c, hot ? gpu_c : 64}, mono);
    }
    detector->on_turn(s, mono, mono, signs, measured);
  }
};

TEST(HeatRow, says_so_minutes_before_the_first_gpu_throttles) {
  Rows r;
  for (int i = 0; i < 10; ++i) r.minute(24, 64);
  EXPECT_TRUE(r.signs.seen.empty());
  double inlet = 24;
  int minutes_left = -1;
  for (int i = 0; i < 12 && minutes_left < 0; ++i) {
    inlet += 2.2;
    r.minute(inlet, 64 + inlet - 24);
    if (!r.signs.seen.empty()) minutes_left = static_cast<int>((88 - (64 + inlet - 24)) / 2.2);
  }
  ASSERT_GE(minutes_left, 5);
  EXPECT_EQ(r.signs.seen.front().kind, FindingKind::row_hot);
  EXPECT_EQ(r.signs.seen.front().slot, 1);
  EXPECT_TRUE(r.detector->hot(r.s.site, NodeId{5}));
  EXPECT_FALSE(r.detector->hot(r.s.site, NodeId{2}));
  ASSERT_EQ(r.measured.size(), 1U);
  EXPECT_EQ(std::get<RowMeasured>(r.measured[0]).row, 1U);
}

TEST(HeatRow, a_day_and_a_hot_gpu_are_no_hot_row) {
  Rows r;
  for (int i = 0; i < 120; ++i) {
    r.minute(24 + i * 0.02, i > 60 ? 86 : 64);
    EXPECT_TRUE(r.signs.seen.empty());
  }
}

TEST(HeatRow, is_over_when_the_row_has_been_cool_for_a_while_and_no_limit_is_left) {
  Rows r;
  for (int i = 0; i < 6; ++i) r.minute(24 + 3 * i, 64 + 3 * i);
  EXPECT_TRUE(r.detector->hot(r.s.site, NodeId{4}));
  r.s.hot_rows[1].limit_pct = 80;
  for (int i = 0; i < 20; ++i) r.minute(26, 66);
  EXPECT_TRUE(r.detector->hot(r.s.site, NodeId{4})) << "cool only because it is limited";
  r.s.hot_rows[1].limit_pct = 100;
  for (int i = 0; i < 12; ++i) r.minute(26, 66);
  EXPECT_FALSE(r.detector->hot(r.s.site, NodeId{4}));
}

TEST(HeatRow, a_site_without_rows_has_none) {
  Rows r;
  r.s.site.rack_row.clear();
  r.detector = std::make_unique<HeatRow>(r.s.site);
  for (int i = 0; i < 10; ++i) r.minute(24 + 3 * i, 64 + 3 * i);
  EXPECT_TRUE(r.signs.seen.empty());
  EXPECT_EQ(r.detector->next(), kNever);
}

}  // namespace
}  // namespace muster::detect
