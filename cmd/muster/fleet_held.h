// What nodes are held against, from the files that say it.
#pragma once
#include "base/result.h"
#include "base/time.h"
#include "model/declaration.h"
#include "model/performance.h"

namespace muster::cmd {

// Now, utc.
Time wall_now();
// None where no file is named.
Result<Declarations> load_declared(const std::string& file);
Result<NodePerformance> load_performance(const std::string& file);

}  // namespace muster::cmd
