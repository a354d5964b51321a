// Whether what a user asks for makes sense, whoever hands it in: the API, a workload file, an engine.
#pragma once
#include <string>

#include "model/job.h"
#include "model/site.h"

namespace muster {

// Empty: nothing is wrong. Else "gpu_milli is 1200: must be ...". `site`: checks also that the cluster could ever hold it, as far
// as numbers go; null where no cluster is known.
std::string problem_with(const JobSpec& spec, const Site* site);

constexpr std::size_t kArrayMax = 10'000;
constexpr std::size_t kAfterMax = 64;

}  // namespace muster
