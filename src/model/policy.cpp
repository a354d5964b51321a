#include "model/policy.h"

namespace muster {

Policy default_policy() {
  Policy p;
  p.runbooks = default_runbooks();
  return p;
}

std::array<std::string, 2> scarce_models(const Policy& p) {
  std::array<std::string, 2> out;
  for (const QueueSpec& q : p.queues) {
    for (const ModelQuota& m : q.models) {
      if (m.model == out[0] || m.model == out[1]) continue;
      if (!out[1].empty()) return out;
      out[out[0].empty() ? 0 : 1] = m.model;
    }
  }
  return out;
}

std::uint32_t allowance(double pct, std::uint32_t floor, std::uint32_t of) {
  return std::max(floor, static_cast<std::uint32_t>(pct / 100.0 * of));
}

const Runbook* find_runbook(const Policy& p, FindingKind k, std::int32_t code) { return find_runbook(p.runbooks, k, code); }

}  // namespace muster
