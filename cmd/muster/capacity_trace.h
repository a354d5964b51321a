// The jobs that `muster capacity` looks at: a job trace as CSV, or what sacct printed.
#pragma once
#include <string>

#include "base/result.h"
#include "ingest/record_trace.h"

namespace muster::cmd {

// Says on stderr what is left out. An error where no job is left.
Result<RecordedTrace> load_capacity_trace(const std::string& file);

}  // namespace muster::cmd
