// Job traces as CSV (quoted or not) with a header line, plain or gzip, told apart by content. Columns are found by name, others
// are ignored:
//   timestamp (2017-10-09 07:01:55, taken as UTC unless an offset follows, or seconds) or submit_time; duration; num_gpus,
//   num_gpu, gpus or gpu_num;
//   gpu_model or gpu_type, where jobs need a model (optional)
// Times are seconds, except in traces of the Muri simulator (columns iterations and iteration_time), which are in milliseconds.
// Errors are "file:line: reason".
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/job_trace.h"

namespace muster {

Result<JobTrace> parse_job_trace(std::string_view bytes, std::string_view file);

}  // namespace muster
