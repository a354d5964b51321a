// The outlook knows what a planner could know, and nothing later.
#include "decide/energy/curve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace muster::decide {
namespace {

PriceSeries series(std::size_t days) {
  PriceSeries p;
  p.begins = Time{0} + hours(24 * 4);  // a Monday
  for (std::size_t h = 0; h < 24 * days; ++h) {
    const double shape = h % 24 >= 8 && h % 24 < 20 ? 20 : 0;
    p.actual.push_back(30 + shape + static_cast<double>(h * 7919 % 11) / 10);
    p.forecast.push_back(30 + shape);
  }
  return p;
}

RC_GTEST_PROP(Curve, nothing_that_lies_ahead_changes_the_outlook, ()) {
  const PriceSeries p = series(12);
  const auto hour = *rc::gen::inRange<std::size_t>(0, p.hours());
  const Knowledge k{*rc::gen::inRange<std::uint32_t>(0, 24), false};
  PriceSeries other = p;
  const std::size_t published = hour / 24 * 24 + (hour % 24 >= k.publish_hour ? 48 : 24);
  for (std::size_t h = hour + 1; h < p.hours(); ++h) other.actual[h] = *rc::gen::inRange(-100, 1000);
  for (std::size_t h = published; h < p.hours(); ++h) other.forecast[h] = -5000;
  RC_ASSERT(outlook(p, hour, 72, k) == outlook(other, hour, 72, k));
}

TEST(Curve, forecasts_are_moved_by_the_error_they_have_shown) {
  PriceSeries p = series(3);
  for (std::size_t h = 0; h < p.hours(); ++h) p.actual[h] = p.forecast[h] + 10;
  const auto o = outlook(p, 30, 18, {12, false});
  EXPECT_EQ(o[0], p.actual[30]);
  EXPECT_GT(o[1], p.forecast[31] + 5);
  EXPECT_LT(o[17], o[1]);
}

TEST(Curve, beyond_the_forecasts_it_expects_days_like_those_before) {
  const auto o = outlook(series(20), 19 * 24 - 1, 48, {23, false});
  EXPECT_GT(o[24 + 12], o[24 + 3] + 15);
  EXPECT_EQ(outlook(series(2), 0, 30, {12, true})[5], series(2).actual[5]) << "a market's prices are published";
}

TEST(Curve, carbon_is_weighed_in) {
  PriceSeries price{Time{}, {10, 20}, {11, 21}, 0};
  const PriceSeries carbon{Time{}, {500, 100}, {400, 200}, 0};
  const PriceSeries both = with_carbon(price, carbon, 100);
  EXPECT_EQ(both.actual, (std::vector<double>{60, 30}));
  EXPECT_EQ(both.forecast, (std::vector<double>{51, 41}));
}

}  // namespace
}  // namespace muster::decide
