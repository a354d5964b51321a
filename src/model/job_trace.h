// A recorded job: when it came, how many GPUs it held, for how long.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster {

struct TraceJob {
  Time submitted;
  Duration run;  // more than zero
  std::uint32_t gpus = 1;
  std::string model;  // of its GPUs; empty: any
};

struct JobTrace {
  std::vector<TraceJob> jobs;      // in order of submission; those submitted together in the order of the file
  bool in_milliseconds = false;    // the file's own times: a trace of the Muri simulator
  std::uint64_t without_gpus = 0;  // left out: they asked for no GPU
  std::uint64_t without_run = 0;   // left out: they ran for no time (cancelled before they began)
};

}  // namespace muster
