// Which setting or version explains the slow nodes, and when none does. Every value that a minority of a kind has is held against
// what nodes were measured at, by shuffling the measurements within each kind: what stands out among all of them together, more
// than chance would in one of a hundred fleets, is named. Values that the same nodes have cannot be told apart, and are not.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/golden.h"
#include "model/performance.h"

namespace muster::fleet {

struct CauseOptions {
  std::uint32_t permutations = 1000;  // or more: as many as alpha and the number of measures need
  double alpha = 0.01;                // chance of naming anything where there is nothing; over all measures
  double least_effect = 0.003;        // smaller ones are not told
  std::uint64_t seed = 1;
};

// Fewer nodes than this have not weight enough to accuse a value; it becomes a candidate at most.
constexpr std::size_t kLeastAffected = 12;
constexpr std::size_t kMostCauses = 4;
// A candidate: by chance such a one turns up in one of twenty fleets.
constexpr double kCandidateAlpha = 0.05;

struct FactValue {
  std::uint32_t column = 0;
  FactCode code = kFactUnknown;
  bool some = false;  // of any part: this value, in this or another column of the key
  auto operator<=>(const FactValue&) const = default;
};

struct Cause {
  std::vector<FactValue> facts;  // all that the same nodes have: an alias class. The cheapest to change first
  // Values of which these nodes are most, or that most of these have: the data hardly tell them from this.
  std::vector<FactValue> near;
  std::vector<std::uint32_t> racks;  // numbers of racks_of() that these nodes are all of; the rack itself may be it
  std::size_t measure = 0;           // place in NodePerformance
  std::vector<std::uint32_t> nodes;  // that have it and were measured
  double effect = 0;                 // by how much slower, as a share; of candidates too
  double low = 0, high = 0;          // 95 % of it, by resampling
  double p = 1;                      // over all values together
  bool as_racks = false;             // a candidate: racks, or nodes with neighbouring names, that are slow as wholes do as well
  double statistic = 0;              // standard deviations below what chance gives
  double surprise_bits = 0;          // how rare the value is
};

struct SlowNode {
  std::uint32_t node = 0;
  std::size_t measure = 0;
  double below = 0;  // its kind's median, as a share; what causes explain taken off
};

// Nodes of one rack, or with neighbouring names where racks are not known, that are slow together.
struct SlowRack {
  std::vector<std::uint32_t> nodes;
  std::size_t measure = 0;
  double below = 0;  // their kind's median; what causes explain taken off
};

struct MeasureTold {
  std::size_t nodes = 0;      // measured, of kinds large enough
  std::size_t values = 0;     // alias classes that were tried
  double noise = 0;           // of one node, as a share: 1.4826 median deviations
  bool coarse = false;        // more than half of a kind measured exactly the same: noise by the mean deviation, or none was seen
  std::size_t by_chance = 0;  // about so many of the unexplained may be noise: the slow are told by being more than the fast
  bool within_racks = false;  // racks differ among themselves, so that only nodes of one rack are compared
};

struct Explanation {
  std::vector<Cause> causes;          // in the order in which they were found: the first explains most
  std::vector<Cause> candidates;      // worth an experiment; by p, then by surprise
  std::vector<Cause> faster;          // values whose nodes are faster than their kind, likewise tested
  std::vector<SlowNode> unexplained;  // slow by more than noise, and neither in a slow rack nor of a candidate
  std::vector<SlowRack> slow_racks;
  std::vector<MeasureTold> measures;
  std::vector<Cohort> cohorts;
  std::uint32_t permutations = 0;  // that were made
  std::size_t placed = 0;  // measured nodes that have facts; FQDNs and short names are one where only one node can be meant
  std::vector<std::string> notes;
};

Explanation explain_slow(const FactTable& table, const FactBook& book, const NodePerformance& performance,
                         const CauseOptions& options);

// What the causes found cost, by value: so that a rule about a setting can say what it does here.
struct MeasuredEffect {
  FactValue fact;
  double effect = 0;  // the largest over all measures
  double p = 1;
};
std::vector<MeasuredEffect> measured_effects(const Explanation& explanation);

}  // namespace muster::fleet
