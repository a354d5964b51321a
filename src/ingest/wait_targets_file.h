// Files of wait targets (docs/capacity.md), for `muster capacity replay --targets`.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/wait_target.h"

namespace muster {

// Errors are "file:line: reason".
Result<WaitTargets> parse_wait_targets(std::string_view text, std::string_view file);

}  // namespace muster
