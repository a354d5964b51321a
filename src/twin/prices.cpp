#include "twin/prices.h"

#include <cmath>

namespace muster::twin {
namespace {

constexpr std::int64_t kHourNs = hours(1).ns;
constexpr std::int64_t kDay = 24;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Of `hours` hours from the hour that begins at `from`, of which the first has begun; shorter where the series ends.
std::vector<double> known(const PriceSeries& s, Time from, std::int64_t hours_ahead) {
  std::vector<double> out;
  const std::int64_t first = floor_div((from - s.begins).ns, kHourNs);
  for (std::int64_t i = first; i < first + hours_ahead; ++i) {
    if (i < 0 || i >= static_cast<std::int64_t>(s.hours())) break;
    std::int64_t at = i;
    const auto here = static_cast<std::size_t>(i);
    if (at > first && here < s.forecast.size() && std::isfinite(s.forecast[here])) {
      out.push_back(s.forecast[here]);
      continue;
    }
    while (at > first) at -= kDay;
    if (at < 0) break;
    out.push_back(s.actual[static_cast<std::size_t>(at)]);
  }
  return out;
}

}  // namespace

std::optional<PriceAnnounced> announced(const PriceSeries& price, const PriceSeries& carbon, Time utc) {
  const std::int64_t hour = floor_div(utc.ns, kHourNs);
  const std::int64_t of_day = hour - floor_div(hour, kDay) * kDay;
  const std::int64_t ahead = kDay - of_day + (of_day >= kDay / 2 ? kDay : 0);
  PriceAnnounced p;
  p.from = Time{hour * kHourNs};
  p.price_per_mwh = known(price, p.from, ahead);
  p.carbon_g_per_kwh = known(carbon, p.from, ahead);
  if (p.price_per_mwh.empty()) return std::nullopt;
  return p;
}

Time next_noon(Time utc) {
  const std::int64_t half = hours(12).ns;
  return Time{(2 * floor_div(utc.ns + half, 2 * half) + 1) * half};
}

}  // namespace muster::twin
