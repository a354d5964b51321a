#include "base/prng.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/math.h"

namespace muster {
namespace {
std::uint64_t splitmix(std::uint64_t& x) {
  x += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = x;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}
std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
}  // namespace

Prng::Prng(std::uint64_t seed, std::string_view stream) {
  std::uint64_t x = seed ^ xxh64(stream);
  for (auto& s : s_) s = splitmix(x);
}

std::uint64_t Prng::next() {
  const std::uint64_t result = rotl(s_[1] * 5, 7) * 9;
  const std::uint64_t t = s_[1] << 17;
  s_[2] ^= s_[0];
  s_[3] ^= s_[1];
  s_[1] ^= s_[2];
  s_[0] ^= s_[3];
  s_[2] ^= t;
  s_[3] = rotl(s_[3], 45);
  return result;
}

std::uint64_t Prng::below(std::uint64_t n) {
  MUSTER_CHECK(n > 0);
  const std::uint64_t threshold = (0 - n) % n;
  for (;;) {
    const std::uint64_t r = next();
    if (r >= threshold) return r % n;
  }
}

double Prng::unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Prng::exponential(double mean) { return -mean * det_log(1.0 - unit()); }

double Prng::normal() {
  // Marsaglia's polar method: needs only log and sqrt, and IEEE sqrt is exact everywhere.
  for (;;) {
    const double u = 2.0 * unit() - 1.0;
    const double v = 2.0 * unit() - 1.0;
    const double q = u * u + v * v;
    if (q > 0.0 && q < 1.0) return u * det_sqrt(-2.0 * det_log(q) / q);
  }
}

double Prng::lognormal(double mu, double sigma) { return det_exp(mu + sigma * normal()); }

}  // namespace muster
