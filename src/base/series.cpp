#include "base/series.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

namespace muster {
namespace {

// The sum of distances to the median of what came so far, by two heaps.
class RunningMedian {
 public:
  double add(double v) {
    if (low_.empty() || v <= low_.top()) {
      low_.push(v);
      low_sum_ += v;
    } else {
      high_.push(v);
      high_sum_ += v;
    }
    if (low_.size() > high_.size() + 1) move(low_, low_sum_, high_, high_sum_);
    if (high_.size() > low_.size()) move(high_, high_sum_, low_, low_sum_);
    const double m = low_.top();
    return m * static_cast<double>(low_.size()) - low_sum_ + high_sum_ - m * static_cast<double>(high_.size());
  }

 private:
  template <class From, class To>
  static void move(From& from, double& from_sum, To& to, double& to_sum) {
    const double v = from.top();
    from.pop();
    to.push(v);
    from_sum -= v;
    to_sum += v;
  }

  std::priority_queue<double> low_;
  std::priority_queue<double, std::vector<double>, std::greater<>> high_;
  double low_sum_ = 0, high_sum_ = 0;
};

}  // namespace

double median_of(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

std::optional<LevelSplit> split_levels(std::span<const double> values, std::size_t side) {
  const std::size_t n = values.size();
  if (side == 0 || n < 2 * side) return {};
  std::vector<double> before(n);  // distances of the first i + 1
  RunningMedian forward, backward;
  for (std::size_t i = 0; i < n; ++i) before[i] = forward.add(values[i]);
  LevelSplit out;
  out.off_unsplit = before[n - 1];
  for (std::size_t i = n; i-- > side;) {
    const double after = backward.add(values[i]);
    if (n - i < side || (out.at != 0 && before[i - 1] + after > out.off)) continue;
    out.off = before[i - 1] + after;
    out.at = i;
  }
  out.before = median_of({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(out.at)});
  out.after = median_of({values.begin() + static_cast<std::ptrdiff_t>(out.at), values.end()});
  return out;
}

}  // namespace muster
