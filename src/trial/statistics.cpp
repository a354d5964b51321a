#include "trial/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/math.h"
#include "base/prng.h"

namespace muster::trial {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr std::uint64_t kDfMax = 100'000;  // beyond, the t distribution differs from this one by less than 1e-5

// ln Gamma(n/2), exact but for rounding: by Gamma(x + 1) = x Gamma(x) from Gamma(1/2) or Gamma(1).
double log_gamma_half(std::uint64_t n) {
  double sum = n % 2 == 0 ? 0 : 0.5 * det_log(kPi);
  double product = 1;
  for (std::uint64_t k = n % 2 == 0 ? 2 : 1; k < n; k += 2) {
    product *= static_cast<double>(k) / 2;
    if (product > 1e250) {
      sum += det_log(product);
      product = 1;
    }
  }
  return sum + det_log(product);
}

// The continued fraction of the incomplete beta function, by Lentz's method. x < (a + 1) / (a + b + 2), where it converges fast.
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  const auto off_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / off_zero(1 - (a + b) * x / (a + 1));
  double h = d;
  for (int m = 1; m <= 20'000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / off_zero(1 + even * d);
    c = off_zero(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / off_zero(1 + odd * d);
    c = off_zero(1 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return h;
}

// P(|T| >= t), t >= 0: the incomplete beta function at df / (df + t^2), with parameters df/2 and 1/2.
double both_tails(double t, std::uint64_t df, double log_beta) {
  const double a = static_cast<double>(df) / 2;
  const double x = static_cast<double>(df) / (static_cast<double>(df) + t * t);
  const double y = t * t / (static_cast<double>(df) + t * t);  // 1 - x, without losing its digits
  if (y <= 0) return 1;
  if (x <= 0) return 0;
  const double front = det_exp(a * det_log(x) + 0.5 * det_log(y) - log_beta);
  if (x < (a + 1) / (a + 2.5)) return front * beta_fraction(x, a, 0.5) / a;
  return 1 - front * beta_fraction(y, 0.5, a) / 0.5;
}

double log_beta_of(std::uint64_t df) { return log_gamma_half(df) + log_gamma_half(1) - log_gamma_half(df + 1); }

double sum_of(std::span<const double> v) { return std::accumulate(v.begin(), v.end(), 0.0); }

// Counts, pattern by pattern of signs, which series come as far from zero as they did.
class FlipCount {
 public:
  // The sums as they are seen; series in order of `farthest`.
  FlipCount(std::vector<double> seen, std::vector<std::size_t> farthest)
      : seen_(std::move(seen)), farthest_(std::move(farthest)), alone_(seen_.size()), among_(seen_.size()) {}

  void count(const std::vector<double>& sums) {
    ++patterns_;
    double largest = 0;
    for (std::size_t rank = farthest_.size(); rank-- > 0;) {
      const std::size_t m = farthest_[rank];
      const double far = std::abs(sums[m]);
      const double least = std::abs(seen_[m]) - 1e-9;  // equal sums may differ in their last bits
      largest = std::max(largest, far);
      alone_[m] += far >= least ? 1 : 0;
      among_[m] += largest >= least ? 1 : 0;
    }
  }
  // `beside`: patterns that were not tried and are known to count.
  FlipTests result(std::uint64_t beside) const {
    FlipTests t;
    t.p.assign(seen_.size(), 1);
    t.adjusted.assign(seen_.size(), 1);
    const auto share = [&](std::uint64_t hits) {
      return static_cast<double>(hits + beside) / static_cast<double>(patterns_ + beside);
    };
    double most = 0;
    for (const std::size_t m : farthest_) {
      t.p[m] = share(alone_[m]);
      t.adjusted[m] = most = std::max(most, share(among_[m]));
    }
    return t;
  }

 private:
  std::vector<double> seen_;
  std::vector<std::size_t> farthest_;
  std::vector<std::uint64_t> alone_, among_;
  std::uint64_t patterns_ = 0;
};

using Pairs = std::vector<std::vector<double>>;  // by pair, then by series

void add_signed(std::vector<double>& sums, const std::vector<double>& pair, double sign) {
  for (std::size_t m = 0; m < sums.size(); ++m) sums[m] += sign * pair[m];
}

// Half of the 2^n patterns suffice: the other half mirrors it.
void try_all(Pairs pairs, std::vector<double> sums, FlipCount& out) {
  const std::uint64_t patterns = std::uint64_t{1} << (pairs.size() - 1);
  for (std::uint64_t i = 1; i <= patterns; ++i) {
    out.count(sums);
    // The next pattern of a Gray code differs in one sign; the last pair keeps its own.
    const auto bit = static_cast<std::size_t>(std::countr_zero(i));
    if (i == patterns) break;
    add_signed(sums, pairs[bit], -2);
    for (double& x : pairs[bit]) x = -x;
  }
}

void draw_some(const Pairs& pairs, std::size_t series, FlipCount& out) {
  Prng prng(pairs.size(), "sign-flip");
  for (std::uint64_t k = 0; k < kFlips; ++k) {
    std::vector<double> sums(series, 0);
    std::uint64_t coins = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i, coins >>= 1) {
      if (i % 64 == 0) coins = prng.next();
      add_signed(sums, pairs[i], (coins & 1) != 0 ? 1 : -1);
    }
    out.count(sums);
  }
}

double needed_factor(std::uint64_t n, double alpha, double power) {
  return (student_quantile(1 - alpha / 2, n - 1) + student_quantile(power, n - 1)) / det_sqrt(static_cast<double>(n));
}

}  // namespace

double student_cdf(double t, std::uint64_t df) {
  MUSTER_CHECK(df >= 1);
  df = std::min(df, kDfMax);
  const double tails = both_tails(std::abs(t), df, log_beta_of(df));
  return t < 0 ? tails / 2 : 1 - tails / 2;
}

double student_quantile(double p, std::uint64_t df) {
  MUSTER_CHECK(df >= 1 && p > 0 && p < 1);
  if (p < 0.5) return -student_quantile(1 - p, df);
  df = std::min(df, kDfMax);
  const double log_beta = log_beta_of(df);
  const double tails = 2 * (1 - p);
  double low = 0;
  double high = 1;
  while (both_tails(high, df, log_beta) > tails && high < 1e300) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = low + (high - low) / 2;
    (both_tails(middle, df, log_beta) > tails ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

Estimate estimate(std::span<const double> values, double level) {
  Estimate e;
  e.n = values.size();
  if (e.n == 0) return e;
  const auto n = static_cast<double>(e.n);
  e.mean = sum_of(values) / n;
  e.low = e.high = e.mean;
  if (e.n < 2) return e;
  double squares = 0;
  for (double v : values) squares += (v - e.mean) * (v - e.mean);
  e.sd = det_sqrt(squares / (n - 1));
  const double half = student_quantile(0.5 + level / 2, e.n - 1) * e.sd / det_sqrt(n);
  e.low = e.mean - half;
  e.high = e.mean + half;
  return e;
}

double student_p(const Estimate& e) {
  if (e.n < 2 || (e.sd <= 0 && e.mean == 0)) return 1;
  if (e.sd <= 0) return 0;
  return 2 * (1 - student_cdf(std::abs(e.mean) / (e.sd / det_sqrt(static_cast<double>(e.n))), e.n - 1));
}

FlipTests sign_flips(const std::vector<std::vector<double>>& series) {
  const std::size_t all = series.size();
  std::vector<double> scale(all, 0);  // the sum of squares is the same whatever the signs: t rises with sum / scale
  for (std::size_t m = 0; m < all; ++m) {
    for (double x : series[m]) scale[m] += x * x;
    scale[m] = det_sqrt(scale[m]);
  }
  Pairs pairs;  // those with a difference: the signs of the others change nothing
  std::vector<double> sums(all, 0);
  for (std::size_t i = 0; all > 0 && i < series[0].size(); ++i) {
    std::vector<double> pair(all, 0);
    for (std::size_t m = 0; m < all; ++m) pair[m] = scale[m] > 0 ? series[m][i] / scale[m] : 0;
    if (std::all_of(pair.begin(), pair.end(), [](double x) { return x == 0; })) continue;
    add_signed(sums, pair, 1);
    pairs.push_back(std::move(pair));
  }
  std::vector<std::size_t> farthest;
  for (std::size_t m = 0; m < all; ++m) {
    if (scale[m] > 0) farthest.push_back(m);
  }
  std::stable_sort(farthest.begin(), farthest.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(sums[a]) > std::abs(sums[b]); });
  FlipCount count(sums, std::move(farthest));
  const bool exact = pairs.size() <= kExactFlips;
  if (exact && !pairs.empty()) try_all(pairs, sums, count);
  if (!exact) draw_some(pairs, all, count);
  // What was seen is a pattern too: with it, a p by drawing is never 0 and never too small.
  FlipTests t = count.result(exact ? 0 : 1);
  t.exact = exact;
  return t;
}

std::uint64_t pairs_needed(double sd, double delta, double alpha, double power) {
  MUSTER_CHECK(delta > 0 && alpha > 0 && alpha < 1);
  std::uint64_t low = 2;
  const auto shown = [&](std::uint64_t n) { return needed_factor(n, alpha, power) * sd <= delta; };
  std::uint64_t high = low;
  while (!shown(high)) {
    if (high >= kPairsMax) return kPairsMax;
    low = high + 1;
    high = std::min(high * 2, kPairsMax);
  }
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (shown(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

std::uint64_t pairs_least(double alpha) {
  std::uint64_t n = 1;
  for (double p = 1; p > alpha; p /= 2) ++n;  // the least p of n pairs is 2 / 2^n
  return n;
}

namespace {

// P(X <= count) of a Poisson variable.
double poisson_cdf(std::uint64_t count, double mean) {
  double term = det_exp(-mean);
  double sum = term;
  for (std::uint64_t k = 1; k <= count; ++k) sum += term *= mean / static_cast<double>(k);
  return sum;
}

// The mean at which P(X <= count) is p: it falls as the mean grows.
double poisson_mean(std::uint64_t count, double p) {
  double low = 0;
  double high = 10 + 3 * static_cast<double>(count);
  for (int i = 0; i < 80; ++i) {
    const double mid = (low + high) / 2;
    (poisson_cdf(count, mid) > p ? low : high) = mid;
  }
  return (low + high) / 2;
}

}  // namespace

double poisson_high(std::uint64_t count, double confidence) { return poisson_mean(count, 1 - confidence); }
double poisson_low(std::uint64_t count, double confidence) { return count == 0 ? 0 : poisson_mean(count - 1, confidence); }

}  // namespace muster::trial
