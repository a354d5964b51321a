// Time zones of maintenance windows, from the system's own database.
#pragma once
#include "base/result.h"
#include "model/policy.h"

namespace muster::cmd {

// Fills in when the clocks of each window's zone change. A zone that the system does not know is an error that names `file` and
// the line of `text`, which is what the file says.
Result<void> resolve_zones(Policy& policy, const std::string& file, std::string_view text);

}  // namespace muster::cmd
