// Cluster files: one YAML file says what a cluster is made of. docs/formats/cluster.md is the format's page.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/cables.h"
#include "model/site.h"

namespace muster {

constexpr std::uint32_t kClusterNodesMax = 131'072;

// `read` gets the tables of cables that the file names, their paths relative to it; without it such a file is refused.
// `cables`, if given: how many there are.
Result<Site> parse_cluster(std::string_view text, std::string_view file, const ReadText& read = {},
                           CableCounts* cables = nullptr);
// A cluster that ships with Muster: "h200-1024" and so on.
Result<Site> preset_cluster(std::string_view name);
std::vector<std::string> preset_cluster_names();
// Nodes of eight H200, in racks of 4, rail groups of 16 and pods of 8 of those. `gpus` must be a multiple of 8.
Result<Site> plain_cluster(std::uint32_t gpus);

}  // namespace muster
