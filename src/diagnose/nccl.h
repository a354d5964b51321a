// What NCCL's own log tells of a job: paths that are slower than they could be, settings that hurt, a slow beginning, links that
// fail and ranks that the others wait for.
#pragma once
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/nccl_bandwidth.h"
#include "model/nccl_run.h"

namespace muster::diagnose {

// What carries the job between nodes by its log, as CollectiveSetup::network calls it; empty: it does not say, or TCP.
std::string network_of(const NcclLog& log);

// What stops a job first, then what makes it slow; `hint.gpu`: a GPU whose switches add up (NVLS) is expected to do so.
std::vector<Finding> find_in_nccl_log(const NcclLog& log, std::span<const GpuModel> gpus, const NcclHint& hint);

}  // namespace muster::diagnose
