// Operation traces as ByteDance's straggler analysis publishes them: CSV with dp_rank, stage, step, optype, start_ts, duration,
// seq_id.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/op_trace.h"

namespace muster {

bool looks_like_op_trace(std::string_view text);
// Errors begin with `file` and name the line.
Result<OpTrace> parse_op_trace(std::string_view text, std::string_view file);
// The job's own description beside it (YAML): only that it is one, and agrees.
bool looks_like_job_meta(std::string_view text);
Result<void> check_job_meta(std::string_view text, std::string_view file, const OpTrace& trace);

}  // namespace muster
