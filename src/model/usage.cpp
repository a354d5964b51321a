#include "model/usage.h"

#include "base/math.h"

namespace muster {
namespace {
constexpr double kLn2 = 0.693147180559945309417;
}

void accrue(Usage& u, const Amounts& held, Time now, Duration half_life) {
  if (now <= u.at) return;
  if (half_life.ns <= 0) {
    u = Usage{.at = now};
    return;
  }
  const double h = half_life.seconds();
  const double keep = det_exp(-kLn2 * (now - u.at).seconds() / h);
  // Integral of held * 2^(-t/h) over the time that passed.
  const double gained = h / kLn2 * (1 - keep);
  for (std::size_t r = 0; r < kResources; ++r) {
    u.amount[r] = u.amount[r] * keep + static_cast<double>(held[r]) * gained;
  }
  u.at = now;
}

std::array<double, kResources> mean_use(const Usage& u, Duration half_life) {
  std::array<double, kResources> out{};
  if (half_life.ns <= 0) return out;
  for (std::size_t r = 0; r < kResources; ++r) out[r] = u.amount[r] * kLn2 / half_life.seconds();
  return out;
}

}  // namespace muster
