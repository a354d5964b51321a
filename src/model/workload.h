// Workload: the jobs a twin is given. Either listed, or a seeded mix that keeps arriving.
#pragma once
#include <string>
#include <vector>

#include "base/time.h"
#include "model/job.h"

namespace muster {

struct TimedJob {
  Duration at;           // after the start
  JobSpec spec;
  Duration deadline_in;  // after its submission; 0: none
};

struct Workload {
  std::string mix = "mixed";    // "llm", "research", "mixed"; empty: only the listed jobs
  double load = 1.15;           // offered work over capacity; above 1 a queue forms
  std::vector<TimedJob> jobs;   // listed ones, in order of time
};

}  // namespace muster
