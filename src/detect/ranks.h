// Which GPU a rank of a job runs on, where the job's placement is known.
#pragma once
#include <optional>
#include <string>

#include "model/state.h"

namespace muster::detect {

struct RankPlace {
  NodeId node;
  std::int16_t slot = -1;
};

// Ranks are dealt out node by node in the order of the job's node list, GPUs in the order of their slots, as torchrun, mpirun and
// srun's block distribution do. A launcher that deals otherwise names the host in its lines, which then counts.
std::optional<RankPlace> place_of_rank(const State& s, const Job& j, int rank);
// How many ranks it has: one on each of its GPUs.
std::size_t ranks_of(const State& s, const Job& j);
// "rank 13 (n1, GPU 5)"; of a job that is not known, "rank 13".
std::string say_rank(const State& s, const Job* j, int rank);

}  // namespace muster::detect
