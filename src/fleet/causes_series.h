// One measure of nodes that can be compared: their kinds and racks, what each has beside the middle of its like, and how far
// chance takes it from there.
#pragma once
#include <cstdint>
#include <vector>

#include "fleet/golden.h"
#include "fleet/shuffle.h"

namespace muster::fleet {

constexpr double kScoreClip = 2.5;     // standard deviations: what lies farther out counts as this
constexpr std::size_t kKindLeast = 8;  // measured nodes of a kind, for shuffling to mean anything
constexpr std::size_t kRackLeast = 4;  // likewise of a rack

// One measure: who was measured and can be compared.
struct Series {
  std::vector<std::uint32_t> node;     // places in the table
  std::vector<std::uint32_t> kind;     // cohort, numbered from 0 among those that are in
  std::vector<std::uint32_t> rack;     // 0: not known
  std::vector<double> y;               // logarithms; effects of causes are added back
  std::vector<std::uint32_t> stratum;  // kind, or kind and rack where racks differ
  // Who may be slow together, each a number by node, from small to large: racks and rows of racks, or neighbours by name.
  std::vector<std::vector<std::uint32_t>> blocks;
  bool racks_known = false, within_racks = false;
  bool coarse = false;        // more than half of a kind measured exactly the same: written with few digits, or capped
  std::vector<double> steps;  // by kind: the last digit that was written, as a share of its middle
};

// Nodes of kinds of which enough were measured, in the order of their names.
Series series_of(const FactTable& table, const std::vector<Cohort>& cohorts, const std::vector<std::uint32_t>& racks,
                 const std::vector<double>& log_of_node);

// With `always` even where racks differ by no more than noise.
void set_strata(Series& s, bool always);

// Settings are rolled out rack by rack, and racks are slow by a switch or a pump: such a setting is no surer than its racks.
void set_blocks(Series& s);

std::vector<double> picked(const std::vector<double>& values, const std::vector<std::uint32_t>& places);
// Places by label.
std::vector<std::vector<std::uint32_t>> grouped(const std::vector<std::uint32_t>& label);

// Standard deviation by the median deviation. Where that is 0 since most are the same, by the mean one.
double spread_of(const std::vector<double>& values, double middle);

// What a node has beside the middle of its stratum.
std::vector<double> residuals(const Series& s);
std::vector<double> noise_by_kind(const Series& s, const std::vector<double>& residual);
Scores scores_of(const Series& s, const std::vector<double>& residual);

}  // namespace muster::fleet
