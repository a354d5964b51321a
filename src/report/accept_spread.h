// How a figure is spread over the GPUs of one kind: dots where they are few, else a histogram, with the median in the middle, the
// limit that they are held to, and the ones beyond it by name.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "accept/metrics.h"

namespace muster::report {

constexpr std::size_t kWorstSorted = 32;

struct SpreadPoint {
  double value = 0;
  std::size_t who = 0;  // whose, for whoever names the outliers
};

struct SpreadDrawing {
  const accept::Metric& metric;
  double median = 0, sigma = 0;
  std::optional<double> limit;
  std::vector<SpreadPoint> points;  // the worst kWorstSorted first, others in any order
  double scale = 1;                 // half the width of the drawing, in the metric's unit, on both sides of the median

  bool beyond(double v) const;
  std::size_t beyond_count() const;
};

// Sorts the points and chooses the scale.
SpreadDrawing spread_drawing(const accept::Metric& m, double median, double sigma, std::optional<double> limit,
                             std::vector<SpreadPoint> points);
// Two drawings, for wide and for narrow screens. `id`: of the wide one; it is ours.
std::string draw_spread(const SpreadDrawing& d, const std::string& id);

}  // namespace muster::report
