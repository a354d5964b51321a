// A recorded job: when it came, how many GPUs it held, for how long.
#pragma once
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace muster {

struct TraceJob {
  Time submitted;
  Duration run;  // more than zero
  std::uint32_t gpus = 1;
};

struct JobTrace {
  std::vector<TraceJob> jobs;      // in order of submission; those submitted together in the order of the file
  std::uint64_t without_gpus = 0;  // left out: they asked for no GPU
  std::uint64_t without_run = 0;   // left out: they ran for no time (cancelled before they began)
};

}  // namespace muster
