// What the jobs of a cluster get of its fabric by the ways that their own traffic takes: rings in the order of their ranks, and
// every node to every other, each job alone and all at once.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/fabric_readings.h"
#include "predict/routes.h"

namespace muster::predict {

struct JobTraffic {
  std::string name;
  std::uint32_t nodes = 0, cards = 0;
  // Mean rate of a card as a share of its own, and that of the slowest.
  double ring = 1, ring_slowest = 1;
  double all_to_all = 1, all_to_all_slowest = 1;  // over the shifts that it is made of, some of them where there are many
  double ring_together = 1;                       // while all other jobs' rings are there
};

// An endpoint belongs to the node that its name begins with, up to a space: "gpu0063 mlx5_0". Card r of a node sends to card r of
// the next, as collectives do that leave a node through the card beside the GPU. At most `shifts` of the all-to-all's are
// measured. A job with a node that no endpoint belongs to is an error.
Result<std::vector<JobTraffic>> job_traffic(const Fabric& fabric, Router& router, std::span<const JobOnNodes> jobs,
                                            std::uint32_t shifts = 32);

// Takes out of `jobs` those with such a node (login nodes, machines of another network), and those without any. The first node
// of each that was taken out, by its job; empty: the job has none.
std::vector<std::pair<std::string, std::string>> drop_jobs_elsewhere(const Fabric& fabric, std::vector<JobOnNodes>& jobs);

}  // namespace muster::predict
