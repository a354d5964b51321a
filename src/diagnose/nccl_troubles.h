// What NCCL's warnings and PyTorch's watchdog say went wrong: links, peers that died, ranks that the others wait for.
#pragma once
#include <string>
#include <vector>

#include "diagnose/finding.h"
#include "model/nccl_run.h"

namespace muster::diagnose {

// "job.log:12".
std::string at(const NcclLog& log, const NcclPlace& place);
// "a, b and 3 more".
std::string some(const std::vector<std::string>& words, std::size_t most);

std::vector<Finding> find_troubles(const NcclLog& log);

}  // namespace muster::diagnose
