// Sums over sets of nodes, as they are and as chance would have them: measurements are shuffled within strata, and the lowest and
// highest sum of all sets is kept of each shuffle. Sets that overlap are corrected for by that alone, since they move together.
#pragma once
#include <cstdint>
#include <vector>

#include "fleet/minorities.h"

namespace muster::fleet {

// Of each node measured, in standard deviations from the middle of its stratum, clipped; the mean of each stratum is 0.
struct Scores {
  std::vector<double> z;
  std::vector<std::uint32_t> stratum;  // from 0
  std::vector<std::uint32_t> rack;     // 0: not known
  double rack_variance = 0;            // of the means of racks beyond noise: sets that lie in few racks count for less by it
  // Neighbours that may be slow together, by node; 0: of none. Given: what a block has in common moves to another block as it is,
  // so that a set that lies in few blocks is as low as chance gives when blocks are slow as wholes. Empty: nodes move each alone.
  std::vector<std::uint32_t> block;
};

struct Shuffled {
  std::vector<double> statistic;  // by set: its sum in standard deviations of what shuffling gives; negative: slow
  std::vector<double> p_low;      // by set: over its own family
  std::vector<double> p_high;     // likewise, for sums that are high
};

// `family` of each set: sets are held against the extremes of their own family. Families are 0 and 1.
Shuffled shuffle(const Scores& scores, const std::vector<Minority>& sets, const std::vector<std::uint8_t>& family,
                 std::uint32_t permutations, std::uint64_t seed);

}  // namespace muster::fleet
