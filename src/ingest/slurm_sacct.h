// What sacct prints of jobs that have ended, from Slurm's accounting database.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/slurm_text.h"

namespace muster::slurm {

// What to ask sacct for: -a -X -n -P --delimiter DELIMITER --format FORMAT, with SLURM_TIME_FORMAT=%s. `nonce`: letters and
// digits, new for every call, since names of jobs are untrusted.
std::string sacct_delimiter(std::string_view nonce);
std::string sacct_format();
// Rows as of squeue; GPUs from AllocTRES, and where that has none from ReqTRES. A job that was requeued has a row for each of its
// runs, oldest first. An error where the text does not end as sacct ends it.
Result<std::vector<JobRow>> parse_sacct(std::string_view text, std::string_view nonce);

}  // namespace muster::slurm
