// A table of who held which GPUs, for sites without sacct: job,node,gpus,start,end, and what else is known. And a table of
// tokens.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/record_time.h"
#include "model/gpu_hold.h"
#include "model/job_record.h"

namespace muster {

// Columns by name: job, node (a name or a list such as gpu[001-004]), start, end; and where known gpus (in all, so many on each
// node), gpu_index ("0-3,6"), gpu_uuid ("GPU-a;GPU-b"), gpu_type, user, account, partition, tokens, energy_j. Times are UTC where
// `zone` is empty. Errors are "file:line: reason".
Result<std::vector<GpuHold>> parse_held(std::string_view text, std::string_view file, const ZoneOffsets& zone);

// Columns job and tokens. Several rows of one job add up; one that leaves its tokens empty does not know them.
Result<std::map<std::string, double>> parse_tokens_file(std::string_view text, std::string_view file);

// What a record of accounting says of the GPUs of a run, spread evenly over its nodes; no places where it had none, or never
// began. `now` is the end of one that still runs and does not say for how long it did.
GpuHold hold_of(const JobRecord& record, Time now);

}  // namespace muster
