// Mix: a seeded stream of training jobs in the proportions of a kind of site, arriving so that the offered work is a given
// share of what the cluster can do.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "model/job.h"

namespace muster::twin {

class Mix {
 public:
  // kind: "llm", "research" or "mixed"; anything else is taken as "mixed" (files and flags are checked before).
  Mix(const std::string& kind, double load, std::uint32_t nodes, std::uint32_t gpus_per_node, std::uint64_t seed);

  JobSpec draw();
  // One of the jobs that a cluster in the middle of its life would be running: long ones are likelier, and part of it is done.
  JobSpec draw_running();
  Duration until_next();

 private:
  JobSpec make(double& run_s);

  std::uint32_t nodes_;
  std::uint32_t gpus_per_node_;
  int kind_ = 2;
  double arrival_s_ = 0;  // mean time between arrivals
  std::uint64_t serial_ = 0;
  Prng shape_;
  Prng clock_;
};

}  // namespace muster::twin
