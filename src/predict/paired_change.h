// Who got slower than before, beyond noise: the scores of the same nodes before and after a change, held against each other and
// against nodes that were not changed.
#pragma once
#include <cstddef>
#include <span>

namespace muster {

struct PairedChange {
  std::size_t pairs = 0;  // nodes with both scores
  // Median of after / before - 1, less the same of those that were not changed; negative: slower.
  double change = 0;
  double p_worse = 1;  // chance of a change so far down where the change did nothing
  bool worse = false;  // p_worse below alpha, and slower by more than `least`
};

// More is better in scores; 0 and less, and NaN, were not measured. `others`: nodes that were not changed, measured at the same
// two times; may be empty. Each side is paired by place. The statistic is the mean of the logarithms of after / before, clipped
// at six median deviations; chance is what comes of taking any as many of all nodes for the changed ones (all ways where they are
// few, else kPairedDraws of them), or, with no others, of tossing a coin for each pair's sign. So the least p_worse there is with
// n changed and m others is 1 / (n + m over n), and with n alone 1 / 2^n: with too few, nothing is ever worse.
constexpr std::size_t kPairedDraws = 10'000;
PairedChange paired_change(std::span<const double> before, std::span<const double> after, std::span<const double> others_before,
                           std::span<const double> others_after, double alpha, double least);

}  // namespace muster
