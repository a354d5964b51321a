// Time zones of maintenance windows and of records of jobs, from the system's own database.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/policy.h"

namespace muster::cmd {

// Fills in when the clocks of each window's zone change. A zone that the system does not know is an error that names `file` and
// the line of `text`, which is what the file says.
Result<void> resolve_zones(Policy& policy, const std::string& file, std::string_view text);

// When the clocks of a zone change, from 2005 to 2040: for times in files of any age. Empty for UTC. An error names `flag`.
Result<std::vector<std::pair<Time, std::int32_t>>> zone_offsets(const std::string& flag, const std::string& zone);

}  // namespace muster::cmd
