// How many nodes to keep free, by failure rate.
#include <algorithm>

#include "base/check.h"
#include "base/math.h"
#include "decide/moves/repair.h"

namespace muster::decide {
namespace {

// Least k with P(X <= k) >= confidence for X ~ Poisson(mean), at most `most`.
std::uint32_t poisson_quantile(double mean, double confidence, std::uint32_t most) {
  if (!(mean > 0)) return 0;
  // Terms in logarithms: exp(-mean) alone would be 0 for large means.
  double log_term = -mean;
  double sum = det_exp(log_term);
  std::uint32_t k = 0;
  while (sum < confidence && k < most) {
    ++k;
    log_term += det_log(mean) - det_log(k);
    sum += det_exp(log_term);
  }
  return k;
}

}  // namespace

std::vector<std::uint32_t> spares_wanted(const SparesAsk& ask) {
  MUSTER_CHECK(ask.gang_nodes.empty() || ask.gang_nodes.size() == ask.group_nodes.size());
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < ask.group_nodes.size(); ++i) {
    const std::uint32_t exposed = ask.gang_nodes.empty() ? ask.group_nodes[i] : std::min(ask.gang_nodes[i], ask.group_nodes[i]);
    const double out_at_once = exposed * ask.failures_per_node_hour * ask.repair_h;
    out.push_back(poisson_quantile(out_at_once, std::min(ask.confidence, 0.999999), ask.group_nodes[i] / 2));
  }
  return out;
}

}  // namespace muster::decide
