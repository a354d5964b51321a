// What the judges of NCCL's Inspector share: operations as their ranks saw them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "diagnose/nccl_bandwidth.h"

namespace muster::diagnose {

constexpr std::size_t kInspectorLeast = 8;  // operations that a rank, or a pair of them, must be seen in
constexpr std::size_t kOddMax = 64;

// One operation as its ranks saw it.
struct Together {
  std::uint64_t seq = 0;
  double bytes = 0, soonest_us = 0, median_us = 0, mean_us = 0;
  std::size_t ranks = 0;
  std::size_t last = 0;  // InspectorSeries::tracks: who was in it the shortest
};
using Operations = std::vector<Together>;  // by number

// Who is in the same operations shorter or longer than the others: into `odd`, `hosts` and `odd_hosts`.
void judge_ranks(JudgedSeries& out, const InspectorSeries& s, const Operations& operations);
void judge_waiting(JudgedSeries& out, const InspectorSeries& s, const Operations& operations);
// Of sends and receives. `hosts`: of ranks of the same communicator, where they are known.
void judge_peers(JudgedSeries& out, const InspectorSeries& s, const std::map<std::uint32_t, std::string>& hosts);

}  // namespace muster::diagnose
