// In which steps a planned upgrade comes to its nodes: the planner says them, the controller keeps to them.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "model/policy.h"

namespace muster {

constexpr std::array<double, 3> kUpgradeWaves_pct = {1, 5, 25};  // of the nodes; then all of them

// How many nodes may have begun in each wave, the canaries and those of the waves before included. A wave that would not double
// what has been tried teaches little and is left out: its nodes go with the next. Empty: all are canaries.
inline std::vector<std::uint32_t> upgrade_waves(std::uint32_t nodes, std::uint32_t canaries) {
  std::vector<std::uint32_t> out;
  std::uint32_t done = std::max(1U, canaries);
  for (const double pct : kUpgradeWaves_pct) {
    const std::uint32_t until = allowance(pct, 1, nodes);
    if (until < 2 * done || until >= nodes) continue;
    out.push_back(until);
    done = until;
  }
  if (done < nodes) out.push_back(nodes);
  return out;
}

}  // namespace muster
