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
  // kind: "llm", "research", "mixed" or "shared"; anything else is taken as "mixed" (files and flags are checked before).
  // leaf_nodes: of the smallest leaf; 0: no job asks for one.
  Mix(const std::string& kind, double load, std::uint32_t nodes, std::uint32_t gpus_per_node, std::uint64_t seed,
      std::uint32_t leaf_nodes = 0);

  // The job that arrives at `utc` and gets this number, by which later ones can name it; 0: no job will know of it.
  JobSpec draw(Time utc = {}, std::uint32_t number = 0);
  // One of the jobs that a cluster in the middle of its life would be running: long ones are likelier, and part of it is done.
  JobSpec draw_running(Time utc = {}, std::uint32_t number = 0);
  Duration until_next();

 private:
  JobSpec make(double& run_s);
  // Of "shared": parts of nodes, shares of GPUs and arrays; then wishes, deadlines and dependencies.
  void divide(JobSpec& j);
  void wish(JobSpec& j, double run_s, Time utc, std::uint32_t number);
  void limit(JobSpec& j, double run_s);

  std::uint32_t nodes_;
  std::uint32_t gpus_per_node_;
  int kind_ = 2;
  double arrival_s_ = 0;  // mean time between arrivals
  std::uint64_t serial_ = 0;
  std::uint32_t leaf_nodes_ = 0;
  std::vector<JobId> last_;  // the job before this one, or the members of an array
  Prng shape_;
  Prng parts_;  // streams of their own: what is drawn from them changes nothing about the shapes
  Prng wishes_;
  Prng limits_;
  Prng clock_;
};

}  // namespace muster::twin
