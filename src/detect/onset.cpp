#include "detect/onset.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace muster::detect {
namespace {

struct Side {
  double middle = 0, off = 0;  // off: sum of how far they lie from it
};

Side side(std::span<const Pacepoint> points) {
  std::vector<double> v;
  for (const Pacepoint& p : points) v.push_back(p.value);
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  Side out{*middle, 0};
  for (const double x : v) out.off += std::abs(x - out.middle);
  return out;
}

}  // namespace

Time onset(std::span<const Pacepoint> points) {
  if (points.size() < 3) return points.empty() ? Time{} : points.front().at;
  std::size_t best = 1;
  double least = -1;
  Side before, after;
  for (std::size_t k = 1; k < points.size(); ++k) {
    const Side a = side(points.first(k)), b = side(points.subspan(k));
    if (least >= 0 && a.off + b.off >= least) continue;
    least = a.off + b.off;
    best = k;
    before = a;
    after = b;
  }
  const Duration stretch = points[best].at - points[best - 1].at;
  const double rise = after.middle - before.middle;
  const double share = rise > 0 ? std::clamp((points[best].value - before.middle) / rise, 0.0, 1.0) : 1;
  return points[best].at - Duration{static_cast<std::int64_t>(share * static_cast<double>(stretch.ns))};
}

}  // namespace muster::detect
