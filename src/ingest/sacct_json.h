// What `sacct --json` prints (Slurm 22.05 and later): the same records as its text has.
#pragma once
#include <string_view>

#include "ingest/sacct_file.h"

namespace muster {

// Each record to `take`. An error: this is no such text.
Result<void> read_sacct_json(std::string_view text, std::string_view file, const TakeRecord& take, SacctCounts& counts);

}  // namespace muster
