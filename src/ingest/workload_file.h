// Workloads for the twin: a seeded mix, or listed jobs, as YAML. docs/formats/workload.md is the format's page.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/workload.h"

namespace muster {

constexpr std::size_t kWorkloadJobsMax = 100'000;

Result<Workload> parse_workload(std::string_view text, std::string_view file);
// The value of --jobs: "mix:llm", "mix:research", "mix:mixed" or "mix:none"; anything else names a file, whose text is
// `content`.
Result<Workload> workload_from_flag(std::string_view flag, std::string_view content = {});
// Whether the flag names a mix, so that there is no file to read.
bool is_mix_flag(std::string_view flag);

}  // namespace muster
