// The one random number generator: xoshiro256** seeded by splitmix64, one independent stream per subsystem, and the few
// distributions we use, written out because the library's differ between implementations.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

class Prng {
 public:
  // The same seed and stream name give the same numbers on every machine, for ever.
  Prng(std::uint64_t seed, std::string_view stream);

  std::uint64_t next();
  // Uniform in [0, n), n > 0, without modulo bias.
  std::uint64_t below(std::uint64_t n);
  // Uniform in [0, 1), 53 bits.
  double unit();
  bool chance(double p) { return unit() < p; }
  // Exponential with the given mean.
  double exponential(double mean);
  // Standard normal.
  double normal();
  // exp(mu + sigma * normal()).
  double lognormal(double mu, double sigma);

 private:
  std::array<std::uint64_t, 4> s_;
};

}  // namespace muster
