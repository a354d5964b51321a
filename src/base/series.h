// What series of measurements say: when one changed its level, and which of several that do the same work stands out.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace muster {

// Of an even number, the upper of the two in the middle; 0 of none.
double median_of(std::vector<double> values);

// The two stretches of a series that lie closest to their own medians.
struct LevelSplit {
  std::size_t at = 0;            // the first of the second
  double before = 0, after = 0;  // medians
  double off = 0;                // sum of how far values lie from the median of their stretch
  double off_unsplit = 0;        // and from the median of all
};
// At least `side` values (one or more) in each; the earliest of equals; none where there are too few. A single odd value moves no
// median, so it makes no change. n log n.
std::optional<LevelSplit> split_levels(std::span<const double> values, std::size_t side);

// Time that a rank spends in the same collectives as others: the last to come is in them the shortest, since the others wait.
enum class InCollective : std::uint8_t { in_line, late, slow };
// `share`: the median rank's time over its own.
constexpr InCollective in_collective(double share) {
  return share >= 1.25 ? InCollective::late : share <= 0.85 ? InCollective::slow : InCollective::in_line;
}

}  // namespace muster
