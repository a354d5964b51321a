#include "detect/onset.h"

#include <algorithm>
#include <vector>

#include "base/series.h"

namespace muster::detect {

Time onset(std::span<const Pacepoint> points) {
  if (points.size() < 3) return points.empty() ? Time{} : points.front().at;
  std::vector<double> values;
  for (const Pacepoint& p : points) values.push_back(p.value);
  const LevelSplit split = *split_levels(values, 1);
  const Duration stretch = points[split.at].at - points[split.at - 1].at;
  const double rise = split.after - split.before;
  const double share = rise > 0 ? std::clamp((values[split.at] - split.before) / rise, 0.0, 1.0) : 1;
  return points[split.at].at - Duration{static_cast<std::int64_t>(share * static_cast<double>(stretch.ns))};
}

}  // namespace muster::detect
