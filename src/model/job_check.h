// Whether what a user asks for makes sense, whoever hands it in: the API, a workload file, an engine.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/job.h"
#include "model/site.h"

namespace muster {

// Empty: nothing is wrong. Else "gpu_milli is 1200: must be ...". `site`: checks also that the cluster could ever hold it, as far
// as numbers go; null where no cluster is known.
std::string problem_with(const JobSpec& spec, const Site* site);

// The model that is `wanted`, as the site writes it, whatever the case; empty where no node has it.
std::string model_given(const Site& site, std::string_view wanted);

// All models there are, the site's own first.
std::vector<std::string> models_of(const Site& site);

constexpr std::size_t kArrayMax = 10'000;
constexpr std::size_t kAfterMax = 64;

}  // namespace muster
