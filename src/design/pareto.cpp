#include "design/pareto.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace muster::design {
namespace {

bool beats(const Merits& x, const Merits& y, std::span<const double> slack) {
  bool better = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double s = slack.empty() ? 0 : slack[i];
    if (!(x[i] <= y[i] + s)) return false;
    better = better || x[i] < y[i] - s;
  }
  return better;
}

}  // namespace

std::vector<bool> pareto_front(std::span<const Merits> choices, std::span<const double> slack) {
  std::vector<bool> out;
  for (const Merits& y : choices) {
    MUSTER_CHECK(y.size() == choices.front().size() && (slack.empty() || slack.size() == y.size()));
    out.push_back(std::none_of(choices.begin(), choices.end(), [&](const Merits& x) { return beats(x, y, slack); }));
  }
  return out;
}

}  // namespace muster::design
