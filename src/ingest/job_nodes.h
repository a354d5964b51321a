// Jobs and the nodes they run on, a line each, in the order of their ranks: "17 gpu[001-008]" as `squeue -h -t R -o "%A %N"`
// prints it.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/fabric_readings.h"

namespace muster {

// "NAME LIST", "NAME: LIST" or a list alone, which is then named by its line. Blank lines and what follows a # are left out.
// A job that waits has no nodes: "45 " and "45", as squeue prints it without -t R. A text without any job is one of none.
Result<std::vector<JobOnNodes>> parse_job_nodes(std::string_view text, std::string_view file);

}  // namespace muster
