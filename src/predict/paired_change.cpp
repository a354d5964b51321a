#include "predict/paired_change.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/math.h"
#include "base/prng.h"
#include "base/series.h"

namespace muster {
namespace {

constexpr double kClip = 6;            // median deviations
constexpr double kSlack = 1e-12;       // sums of the same numbers in another order count as equal
constexpr std::size_t kSignsMax = 13;  // 2^13 ways are tried one by one

std::vector<double> log_ratios(std::span<const double> before, std::span<const double> after) {
  std::vector<double> out;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] > 0 && after[i] > 0 && std::isfinite(before[i]) && std::isfinite(after[i]))
      out.push_back(det_log(after[i] / before[i]));
  }
  return out;
}

void clip(std::vector<double>& v) {
  const double middle = median_of(v);
  std::vector<double> off;
  off.reserve(v.size());
  for (const double x : v) off.push_back(std::abs(x - middle));
  const double reach = kClip * median_of(off);
  if (reach <= 0) return;
  for (double& x : v) x = std::clamp(x, middle - reach, middle + reach);
}

double sum_of(std::span<const double> v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum;
}

// How often a choice of `n` of all has a sum as low as the first `n` have.
double chance_of_choice(std::vector<double> all, std::size_t n) {
  const double seen = sum_of(std::span(all).first(n)) + kSlack;
  double ways = 1;
  for (std::size_t i = 0; i < n && ways <= static_cast<double>(kPairedDraws); ++i)
    ways = ways * static_cast<double>(all.size() - i) / static_cast<double>(i + 1);
  std::size_t as_low = 0, tried = 0;
  if (ways <= static_cast<double>(kPairedDraws)) {
    std::vector<std::size_t> at(n);
    for (std::size_t i = 0; i < n; ++i) at[i] = i;
    while (true) {
      double sum = 0;
      for (const std::size_t i : at) sum += all[i];
      as_low += sum <= seen;
      ++tried;
      std::size_t k = n;
      while (k > 0 && at[k - 1] == all.size() - n + k - 1) --k;
      if (k == 0) break;
      ++at[k - 1];
      for (; k < n; ++k) at[k] = at[k - 1] + 1;
    }
    return static_cast<double>(as_low) / static_cast<double>(tried);
  }
  Prng prng(1, "paired_change");
  for (; tried < kPairedDraws; ++tried) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::swap(all[i], all[i + prng.below(all.size() - i)]);
      sum += all[i];
    }
    as_low += sum <= seen;
  }
  return static_cast<double>(as_low + 1) / static_cast<double>(tried + 1);
}

// How often signs by the toss of a coin give a sum as low.
double chance_of_signs(const std::vector<double>& v) {
  const double seen = sum_of(v) + kSlack;
  const bool all_ways = v.size() <= kSignsMax;
  const std::size_t tries = all_ways ? std::size_t{1} << v.size() : kPairedDraws;
  Prng prng(1, "paired_change.signs");
  std::size_t as_low = 0;
  for (std::size_t t = 0; t < tries; ++t) {
    double sum = 0;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i % 64 == 0) bits = all_ways ? t : prng.next();
      sum += bits & 1 ? -std::abs(v[i]) : std::abs(v[i]);
      bits >>= 1;
    }
    as_low += sum <= seen;
  }
  return all_ways ? static_cast<double>(as_low) / static_cast<double>(tries)
                  : static_cast<double>(as_low + 1) / static_cast<double>(tries + 1);
}

}  // namespace

PairedChange paired_change(std::span<const double> before, std::span<const double> after, std::span<const double> others_before,
                           std::span<const double> others_after, double alpha, double least) {
  std::vector<double> all = log_ratios(before, after);
  const std::vector<double> others = log_ratios(others_before, others_after);
  PairedChange out;
  out.pairs = all.size();
  if (all.empty()) return out;
  const double drift = others.empty() ? 0 : median_of(others);
  out.change = det_exp(median_of(all) - drift) - 1;
  if (others.empty()) {
    clip(all);
    out.p_worse = chance_of_signs(all);
  } else {
    all.insert(all.end(), others.begin(), others.end());
    clip(all);
    out.p_worse = chance_of_choice(std::move(all), out.pairs);
  }
  out.worse = out.p_worse <= alpha && out.change < -least;
  return out;
}

}  // namespace muster
