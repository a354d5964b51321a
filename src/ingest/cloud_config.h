// cloud-init's user-data held against the keys that it reads: cloud-init itself says nothing of a misspelt one, and does nothing.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

// One line for each thing that would be passed over: "file:12: runcmdx is no key of cloud-init; runcmd is". An error: it is no
// YAML at all.
Result<std::vector<std::string>> check_cloud_config(std::string_view text, std::string_view file);

}  // namespace muster
