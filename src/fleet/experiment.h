// The cheapest experiment that tells values apart which the same nodes have: which one to change on which few of them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/causes.h"

namespace muster::fleet {

struct Arm {
  std::vector<FactValue> change;  // together: they cannot be changed one by one, as the driver and its modules
  std::vector<std::string> to;    // what most of their kind have, for each; empty text: absent
  std::vector<std::uint32_t> nodes;
};

struct Experiment {
  std::vector<Arm> arms;             // measure again after it: the arm that gets faster has the cause
  std::vector<FactValue> otherwise;  // what it is where no arm gets faster; empty: then none of them is it
  // Racks, parts and names, which nobody can set: swap them, or run the same on other nodes. With no arm that is all there is.
  std::vector<FactValue> fixed;
  std::uint32_t per_arm = 0;
  bool enough = true;           // the nodes suffice
  std::uint32_t untouched = 0;  // nodes that stay as they are, to measure beside
};

// Noise and effect as shares. One arm less than there is to tell apart, the dearest change left out; with one value alone an arm
// that shows whether it is to blame at all.
Experiment experiment_for(const FactTable& table, const FactBook& book, const std::vector<Cohort>& cohorts, const Cause& cause,
                          double noise);

}  // namespace muster::fleet
