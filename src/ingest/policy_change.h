// Single settings of a policy, changed by name: what `--set KEY=VALUE` means.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/policy.h"

namespace muster {

// "limits.out_cluster_pct", "10": the name that a policy file has for it, and the value as it is written there.
using PolicySetting = std::pair<std::string, std::string>;

// Numbers, flags, durations and words; lists (queues, windows, groups, runbooks) cannot be changed so. Values have the bounds
// that they have in a file.
Result<Policy> change_policy(const Policy& policy, const std::vector<PolicySetting>& settings);
// All names there are, and what each is now, as a file would write it; durations in seconds with an s.
std::vector<PolicySetting> settings_of(const Policy& policy);

}  // namespace muster
