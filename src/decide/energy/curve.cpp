#include "decide/energy/curve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace muster::decide {
namespace {

constexpr std::size_t kDay = 24;
// How forecasts are trusted. Chosen once on one year of one market, and coarse on purpose: none of them moves the saving by
// more than half a point between half and twice its value.
constexpr double kErrorTrust = 0.8;    // of the error seen, expected in the next hour
constexpr double kErrorFades = 0.95;   // per hour ahead
constexpr double kErrorMemory = 0.6;   // weight of the error one hour further back
constexpr double kLevelKept = 0.7;     // of a day's distance from the usual level, left a day later
constexpr double kLevelMemory = 0.95;  // weight of the level one day further back
constexpr double kShapeMemory = 0.93;  // likewise, of a day's shape
constexpr double kOtherSort = 0.15;    // weight of a weekend for the shape of a working day, and the other way round
constexpr std::size_t kLearnDays = 56;
constexpr std::size_t kErrorHours = 24;

struct View {
  const PriceSeries& p;
  std::size_t hour;
  std::size_t known;  // hours before this one have a forecast or a price
  bool market;
  double error = 0;

  View(const PriceSeries& series, std::size_t at, const Knowledge& k) : p(series), hour(at), market(k.market) {
    const std::size_t of_day = (first() + at) % kDay;
    known = at + (kDay - of_day) + (of_day >= k.publish_hour ? kDay : 0);
    known = std::min(known, p.hours());
    double weight = 0;
    double w = 1;
    for (std::size_t back = 0; back < kErrorHours && back <= at; ++back, w *= kErrorMemory) {
      const std::size_t h = at - back;
      if (h >= p.hours() || std::isnan(p.forecast[h])) continue;
      error += w * (p.actual[h] - p.forecast[h]);
      weight += w;
    }
    if (weight > 0) error /= weight;
  }
  std::size_t first() const { return static_cast<std::size_t>(p.begins.ns / hours_ns() % static_cast<std::int64_t>(kDay)); }
  static constexpr std::int64_t hours_ns() { return 3'600'000'000'000; }
  // What is known of hour h, h < known: a price that was seen, or the forecast, corrected.
  double seen(std::size_t h) const {
    if (h <= hour || market) return p.actual[h];
    if (std::isnan(p.forecast[h])) return p.actual[hour];
    double trust = kErrorTrust;
    for (std::size_t i = hour; i < h && trust > 1e-3; ++i) trust *= kErrorFades;
    return p.forecast[h] + trust * error;
  }
  bool weekend(std::size_t h) const {
    const std::int64_t day = (p.begins.ns / hours_ns() + static_cast<std::int64_t>(h)) / static_cast<std::int64_t>(kDay);
    return (day + 3) % 7 >= 5;  // 1970-01-01 was a Thursday; Monday is 0
  }
};

// What past days teach, counted back from the first hour nobody knows.
struct Learnt {
  std::array<std::array<double, kDay>, 2> shape{};  // by sort of day, and hours after `known`: difference from the day's mean
  std::array<double, 2> offset{};                   // of the sort's days from the level
  double level = 0;
  double last = 0;  // level of the last day known
  bool last_weekend = false;
  bool any = false;

  explicit Learnt(const View& v) {
    std::array<double, 2> shape_weight{}, sort_sum{}, sort_weight{};
    double sum = 0, weight = 0, level_w = 1, shape_w = 1;
    for (std::size_t back = 1; back <= kLearnDays && back * kDay <= v.known; ++back) {
      const std::size_t begin = v.known - back * kDay;
      std::array<double, kDay> x{};
      double mean = 0;
      for (std::size_t i = 0; i < kDay; ++i) mean += (x[i] = v.seen(begin + i)) / kDay;
      const bool weekend = v.weekend(begin + kDay / 2);
      if (back == 1) {
        last = mean;
        last_weekend = weekend;
      }
      sum += level_w * mean;
      weight += level_w;
      sort_sum[weekend] += level_w * mean;
      sort_weight[weekend] += level_w;
      for (std::size_t sort = 0; sort < 2; ++sort) {
        const double w = shape_w * (weekend == (sort == 1) ? 1.0 : kOtherSort);
        for (std::size_t i = 0; i < kDay; ++i) shape[sort][i] += w * (x[i] - mean);
        shape_weight[sort] += w;
      }
      level_w *= kLevelMemory;
      shape_w *= kShapeMemory;
      any = true;
    }
    if (!any) return;
    level = sum / weight;
    for (std::size_t sort = 0; sort < 2; ++sort) {
      for (double& d : shape[sort]) d /= shape_weight[sort];
      if (sort_weight[0] > 0 && sort_weight[1] > 0) offset[sort] = sort_sum[sort] / sort_weight[sort] - level;
    }
  }
};

}  // namespace

PriceSeries with_carbon(const PriceSeries& price, const PriceSeries& carbon, double per_tonne) {
  MUSTER_CHECK(price.begins == carbon.begins);
  PriceSeries out;
  out.begins = price.begins;
  const std::size_t n = std::min(price.hours(), carbon.hours());
  for (std::size_t i = 0; i < n; ++i) {
    out.actual.push_back(price.actual[i] + per_tonne * carbon.actual[i] / 1000);
    out.forecast.push_back(price.forecast[i] + per_tonne * carbon.forecast[i] / 1000);
  }
  out.filled = price.filled + carbon.filled;
  return out;
}

std::vector<double> outlook(const PriceSeries& p, std::size_t hour, std::size_t n, const Knowledge& k) {
  MUSTER_CHECK(hour < p.hours());
  const View view(p, hour, k);
  const Learnt learnt(view);
  std::vector<double> out(n);
  double kept = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t h = hour + i;
    if (h < view.known) {
      out[i] = view.seen(h);
      continue;
    }
    const std::size_t after = h - view.known;
    if (after % kDay == 0) kept *= kLevelKept;
    if (!learnt.any) {
      out[i] = p.actual[hour];
      continue;
    }
    const auto sort = static_cast<std::size_t>(view.weekend(h - after % kDay + kDay / 2));
    const double away = learnt.last - learnt.level - learnt.offset[learnt.last_weekend];
    out[i] = learnt.level + learnt.offset[sort] + kept * away + learnt.shape[sort][after % kDay];
  }
  return out;
}

}  // namespace muster::decide
