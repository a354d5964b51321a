#include "report/accept_spread.h"

#include <gtest/gtest.h>

namespace muster::report {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::vector<SpreadPoint> points(std::size_t n, double middle, double step) {
  std::vector<SpreadPoint> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back({middle + step * (static_cast<double>(i % 21) - 10), i});
  return out;
}

TEST(AcceptSpread, TheWorstComeFirstWhicheverWayIsBetter) {
  const accept::Metric& read = *accept::find_metric("hbm_read");
  const accept::Metric& heat = *accept::find_metric("gpu_c_max");
  auto p = points(100, 4693, 1);
  p.push_back({3000, 777});
  EXPECT_EQ(spread_drawing(read, 4693, 5, 4650, p).points.front().who, 777U);
  EXPECT_EQ(spread_drawing(read, 4693, 5, 4650, p).beyond_count(), 1U);
  p.back().value = 9000;
  EXPECT_EQ(spread_drawing(heat, 4693, 5, {}, p).points.front().who, 777U);
}

TEST(AcceptSpread, AFewAreDotsAndManyAreBars) {
  const accept::Metric& m = *accept::find_metric("hbm_read");
  const std::string few = draw_spread(spread_drawing(m, 4693, 5, 4650, points(40, 4693, 1)), "x");
  const std::string many = draw_spread(spread_drawing(m, 4693, 5, 4650, points(4000, 4693, 1)), "x");
  EXPECT_TRUE(has(few, "<circle"));
  EXPECT_FALSE(has(few, "class=\"bar"));
  EXPECT_TRUE(has(many, "class=\"bar"));
  EXPECT_FALSE(has(many, "<circle"));
  EXPECT_LT(many.size(), 20'000U);
}

TEST(AcceptSpread, OneAtHalfItsSpeedIsCountedAtTheEdgeAndDoesNotPressTheOthersTogether) {
  const accept::Metric& m = *accept::find_metric("hbm_read");
  auto p = points(4000, 4693, 1);
  const double scale = spread_drawing(m, 4693, 5, 4650, p).scale;
  p.push_back({2300, 4000});
  const SpreadDrawing d = spread_drawing(m, 4693, 5, 4650, p);
  EXPECT_EQ(d.scale, scale);
  EXPECT_TRUE(has(draw_spread(d, "x"), "text-anchor=\"start\">1</text>"));
}

TEST(AcceptSpread, OnesThatAreAllAlikeCanBeDrawn) {
  const accept::Metric& m = *accept::find_metric("sms");
  EXPECT_TRUE(has(draw_spread(spread_drawing(m, 132, 0, {}, points(100, 132, 0)), "x"), ">132</text>"));
  EXPECT_TRUE(has(draw_spread(spread_drawing(m, 0, 0, {}, {}), "x"), "<svg"));
}

}  // namespace
}  // namespace muster::report
