// What the exchanges in a profile got of what their links promise.
#pragma once
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/nccl_bandwidth.h"
#include "diagnose/profile.h"

namespace muster::diagnose {

// One for each operation and number of ranks, size by size: the shortest times are taken, in which nobody waited for anybody.
std::vector<JudgedRun> judge_exchanges(const Profile& p, const NcclYardstick& yardstick);
std::vector<Finding> exchange_findings(const Profile& p, const NcclYardstick& yardstick);

}  // namespace muster::diagnose
