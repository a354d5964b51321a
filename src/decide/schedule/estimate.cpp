#include "decide/schedule/estimate.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster::decide {

Estimate estimate_run(const Histories& h, std::string_view user, std::string_view job_name, Duration limit,
                      const EstimatePolicy& policy) {
  fmt::memory_buffer own;  // asked for every waiting job in every pass: no memory of its own
  own.append(user);
  own.push_back('\n');
  own.append(name_stem(job_name));
  const std::string_view keys[] = {{own.data(), own.size()}, user, {}};
  constexpr EstimateFrom kFrom[] = {EstimateFrom::name, EstimateFrom::user, EstimateFrom::all};
  for (std::size_t i = 0; i < std::size(keys); ++i) {
    // What everybody's jobs did says little about this one: a limit that its user gave says more.
    if (kFrom[i] == EstimateFrom::all && limit.ns > 0) break;
    const auto it = h.of.find(keys[i]);
    if (it == h.of.end() || it->second.total < policy.runs_min) continue;
    const Duration run = it->second.quantile(policy.quantile);
    return {limit.ns > 0 ? std::min(run, limit) : run, kFrom[i], it->second.total};
  }
  if (limit.ns > 0) return {limit, EstimateFrom::limit, 0};
  return {policy.unknown, EstimateFrom::nothing, 0};
}

Time expected_end(Time started, Duration estimate, Time now) {
  Duration all = std::max(estimate, seconds(1));
  while (started + all <= now) all = all * 2;
  return started + all;
}

}  // namespace muster::decide
