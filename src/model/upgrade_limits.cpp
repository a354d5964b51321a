#include "model/upgrade_limits.h"

#include <algorithm>

#include "model/window.h"

namespace muster {
namespace {
constexpr double kShare = 0.6;
}

double upgrade_share(const Upgrade& u) { return u.phase == UpgradePhase::rolling_back ? 1 : kShare; }

std::uint32_t part_of_limit(std::uint32_t limit, double share) {
  return std::max(std::min(limit, 1U), static_cast<std::uint32_t>(limit * share));
}

std::uint32_t upgrade_slots(const State& s) {
  const Limits& l = s.policy.limits;
  const bool back = s.upgrade.phase == UpgradePhase::rolling_back;
  if (!back && !s.policy.windows.empty() && until_window(s.policy.windows, s.now.utc).ns > 0) return 0;
  const auto nodes = static_cast<std::uint32_t>(s.nodes.size());
  const double share = upgrade_share(s.upgrade);
  const auto left = [&](std::uint32_t limit, std::size_t used) {
    const std::uint32_t mine = part_of_limit(limit, share);
    return used < mine ? mine - static_cast<std::uint32_t>(used) : 0;
  };
  const auto in_hour =
      std::count_if(s.harms.begin(), s.harms.end(), [&](const Harm& h) { return h.node.some() && h.at > s.mono() - hours(1); });
  return std::min(left(allowance(l.out_cluster_pct, l.out_cluster_floor, nodes), s.out_nodes.size()),
                  left(allowance(l.harm_per_hour_pct, l.harm_per_hour_floor, nodes), static_cast<std::size_t>(in_hour)));
}

}  // namespace muster
