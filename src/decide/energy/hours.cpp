#include "decide/energy/hours.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace muster::decide {
namespace {

std::vector<std::uint32_t> cheapest(const std::vector<double>& price, const Wait& w) {
  std::vector<std::uint32_t> all(w.within);
  std::iota(all.begin(), all.end(), 0u);
  if (w.pausable) {
    std::stable_sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) { return price[a] < price[b]; });
    all.resize(w.hours);
    std::sort(all.begin(), all.end());
    return all;
  }
  std::uint32_t best = 0;
  double least = 0;
  for (std::uint32_t begin = 0; begin + w.hours <= w.within; ++begin) {
    const double sum = std::accumulate(price.begin() + begin, price.begin() + begin + w.hours, 0.0);
    // Sums of the same numbers in another order differ in their last bits: that is no reason to wait.
    if (begin == 0 || sum < least - 1e-9 * (1 + std::max(sum, -sum))) {
      least = sum;
      best = begin;
    }
  }
  std::vector<std::uint32_t> out(w.hours);
  std::iota(out.begin(), out.end(), best);
  return out;
}

Choice chosen(std::vector<std::uint32_t> hours, const std::vector<double>& expected, const std::vector<double>& actual) {
  Choice c{std::move(hours), 0, 0};
  const auto n = static_cast<double>(c.hours.size());
  for (const std::uint32_t h : c.hours) {
    c.mean += actual[h] / n;
    c.expected += expected[h] / n;
  }
  return c;
}

}  // namespace

Choices choose_hours(const PriceSeries& s, const Wait& w) {
  MUSTER_CHECK(w.hours > 0 && w.within >= w.hours && w.now + w.within <= s.hours());
  const auto first = s.actual.begin() + static_cast<std::ptrdiff_t>(w.now);
  const std::vector<double> actual(first, first + w.within);
  const std::vector<double> expected = outlook(s, w.now, w.within, w.known);
  std::vector<std::uint32_t> at_once(w.hours);
  std::iota(at_once.begin(), at_once.end(), 0u);
  return {chosen(at_once, expected, actual), chosen(cheapest(expected, w), expected, actual),
          chosen(cheapest(actual, w), expected, actual)};
}

WaitReplay replay_waits(const PriceSeries& s, const Wait& wait, std::uint32_t every) {
  WaitReplay out;
  Wait w = wait;
  for (w.now = wait.now; w.now + w.within <= s.hours(); w.now += every) {
    const Choices c = choose_hours(s, w);
    ++out.times;
    out.at_once += c.at_once.mean;
    out.forecast += c.forecast.mean;
    out.foresight += c.foresight.mean;
    out.worse += c.forecast.mean > c.at_once.mean ? 1 : 0;
  }
  const double n = std::max<double>(1, static_cast<double>(out.times));
  out.at_once /= n;
  out.forecast /= n;
  out.foresight /= n;
  return out;
}

}  // namespace muster::decide
