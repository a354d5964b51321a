// cloud-init's user-data held against the keys that it reads and what their values may be: cloud-init itself says nothing of a
// misspelt key, and does nothing.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

// One line for each thing that would be passed over or refused: "file:12: runcmdx is no key that is read; runcmd is",
// "file:3: packages must be a list, is a whole number". An error: it is no YAML at all.
Result<std::vector<std::string>> check_cloud_config(std::string_view text, std::string_view file);

}  // namespace muster
