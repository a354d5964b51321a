// What `ncu --csv` prints, of its raw page (a row for each launch) and of its details page (a row for each metric).
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/kernel_profile.h"

namespace muster {

// Lines of the profiler and of the program may come before the table.
bool looks_like_ncu_csv(std::string_view text);
// Errors begin with `file`.
Result<KernelProfile> parse_ncu_csv(std::string_view text, std::string_view file);

}  // namespace muster
