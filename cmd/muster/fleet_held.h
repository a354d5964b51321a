// What nodes are held against, from the files that say it.
#pragma once
#include "base/result.h"
#include "base/time.h"
#include "model/declaration.h"
#include "model/performance.h"

namespace muster::cmd {

// Now, utc.
Time wall_now();
// The last second of --today, "2026-11-19", utc.
Result<Time> end_of_day(const std::string& day);
// None where no file is named.
Result<Declarations> load_declared(const std::string& file);
Result<NodePerformance> load_performance(const std::string& file);

}  // namespace muster::cmd
