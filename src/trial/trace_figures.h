// The figures of a replay: waits and slowdowns of all jobs and by size class.
#pragma once
#include <string>
#include <vector>

#include "trial/trace_replay.h"

namespace muster::trial {

struct WaitFigures {
  std::uint64_t jobs = 0;
  double mean = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;  // seconds; pNN: the least value that NN % of the jobs do not exceed
  double slowdown_mean = 0;                             // bounded at 10 s
};

struct SizeClass {
  std::string name;            // "9-16"
  std::uint32_t gpus_max = 0;  // UINT32_MAX: no bound
};
const std::vector<SizeClass>& size_classes();

struct ReplayFigures {
  WaitFigures all;
  std::vector<WaitFigures> by_size;  // as size_classes(); jobs 0: none of that size
};

ReplayFigures figures_of(const Replay& replay);

}  // namespace muster::trial
