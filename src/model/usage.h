// Usage: what a queue has used lately, older use counting half as much after each half-life. A plain accumulator that the fold
// can keep: the same events give the same numbers on every machine.
#pragma once
#include <array>
#include <cstdint>

#include "base/time.h"
#include "model/fields.h"

namespace muster {

// What fairness is measured in. A queue's share is that of the resource it has most of (dominant-resource fairness).
enum class Resource : std::uint8_t {
  gpus,          // thousandths of a GPU, of all models
  first_model,   // the same, of the first model a site names as scarce
  second_model,  // and of the second
  power,         // watts
};
constexpr std::array<std::string_view, 4> names(Resource) { return {"gpus", "first_model", "second_model", "power"}; }
constexpr std::size_t kResources = 4;

using Amounts = std::array<std::int64_t, kResources>;  // by Resource

constexpr Amounts whole_gpus(std::int64_t n) { return {n * 1000, 0, 0, 0}; }

struct Usage {
  std::array<double, kResources> amount{};  // resource-seconds, decayed to `at`
  Time at;                                  // mono
};

template <class V>
void fields(V& v, Usage& u) {
  v("amount", u.amount);
  v("at", u.at);
}

// `held` was in use from u.at to `now`: adds that, and lets all of it age to `now`. Exact for constant `held`: calling it once or
// in many steps gives the same up to rounding. A `now` before u.at changes nothing. half_life of 0: nothing is remembered.
void accrue(Usage& u, const Amounts& held, Time now, Duration half_life);
// The mean amount in use over the past, recent times weighing more; what a constant use tends to.
std::array<double, kResources> mean_use(const Usage& u, Duration half_life);

}  // namespace muster
