// The published packing experiment on the Alibaba trace of 2023: pods arrive in random order and stay; those that fit nowhere are
// lost; what is measured is how much of the GPU capacity is allocated when the pods that arrived ask for as much as there is.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "decide/share/packer.h"

namespace muster::trial {

enum class OpenbPolicy : std::uint8_t { random, best_fit, fgd, muster };

struct OpenbWorkload {
  std::vector<share::NodeSpec> nodes;  // in the order of the list
  std::vector<share::PodShape> pods;
};

struct OpenbOutcome {
  std::uint64_t seed = 0;
  double alloc_pct_100 = 0;  // of the GPU capacity, when the pods that arrived ask for 100 % of it; NaN: never so many
  double alloc_pct_130 = 0;
  double decision_us = 0;  // mean thread-CPU time of a decision
  std::uint64_t pods = 0;
  std::uint64_t lost = 0;  // fitted nowhere
};

// One run. The seed gives the order of the pods, the pods drawn again after them until 130 % of the GPU capacity is asked for,
// and the order of the nodes, by which ties are broken. `thread_cpu_ns` reads the thread's CPU clock.
OpenbOutcome run_openb(const OpenbWorkload& workload, OpenbPolicy policy, std::uint64_t seed,
                       const std::function<std::int64_t()>& thread_cpu_ns);

struct OpenbSummary {
  double alloc_pct_100_mean = 0;
  double alloc_pct_100_sd = 0;  // over seeds; 0 with one seed
  double alloc_pct_130_mean = 0;
  double decision_us_mean = 0;
};
OpenbSummary summarise(const std::vector<OpenbOutcome>& outcomes);

}  // namespace muster::trial
