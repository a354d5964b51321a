#include "base/math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace muster {
namespace {
constexpr double kLn2Hi = 0x1.62e42fee00000p-1;
constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;
}  // namespace

double det_log(double x) {
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  if (!(x > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(x)) return x;
  int e = 0;
  double m = std::frexp(x, &e);  // exact by definition
  if (m < 0.70710678118654752440) {
    m *= 2.0;
    --e;
  }
  // log(m) = 2 atanh(s), s = (m-1)/(m+1), |s| < 0.1716: the odd series converges to 1e-17 in eleven terms.
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 1.0 / 23.0;
  for (int k = 21; k >= 3; k -= 2) p = p * z + 1.0 / k;
  const double tail = 2.0 * s * z * p;
  const double ed = e;
  return ed * kLn2Hi + (2.0 * s + (tail + ed * kLn2Lo));
}

double det_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  if (x < -745.13) return 0.0;
  const double k = std::floor(x * 1.44269504088896340736 + 0.5);
  const double r = (x - k * kLn2Hi) - k * kLn2Lo;
  double p = 1.0;
  for (int i = 14; i >= 1; --i) p = 1.0 + p * r / i;
  return std::ldexp(p, static_cast<int>(k));
}

double det_sqrt(double x) { return std::sqrt(x); }

double det_pow(double x, double y) { return det_exp(y * det_log(x)); }

double det_sin(double x) {
  constexpr double kTwoPi = 6.28318530717958647692;
  constexpr double kPi = 3.14159265358979323846;
  double r = x - std::floor(x / kTwoPi) * kTwoPi;
  double sign = 1.0;
  if (r >= kPi) {
    r -= kPi;
    sign = -1.0;
  }
  if (r > kPi / 2) r = kPi - r;
  const double z = r * r;
  double p = 1.0;
  for (int k = 10; k >= 1; --k) p = 1.0 - p * z / ((2.0 * k) * (2.0 * k + 1.0));
  return sign * r * p;
}

}  // namespace muster
