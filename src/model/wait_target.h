// What a site promises of waits: by size of job, how many begin within how long.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster {

// Jobs of so many GPUs at most (and more than the class before): `share` of them are to begin within `wait`.
struct WaitTarget {
  std::uint32_t gpus_max = 8;  // kAnyGpus: no bound
  Duration wait = hours(1);
  double share = 0.9;
};
constexpr std::uint32_t kAnyGpus = UINT32_MAX;
constexpr std::size_t kWaitTargetsMax = 32;
constexpr Duration kTargetWaitMax = days(365);

// In growing order of size. Jobs beyond the last class have no target.
struct WaitTargets {
  std::string name;  // of the promise; may be empty
  std::vector<WaitTarget> classes;
};

}  // namespace muster
