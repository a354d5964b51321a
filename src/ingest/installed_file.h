// What a site has: from `scontrol show node` (with or without -o), slurm.conf, `sinfo -N -h -o "%N %G"`, or a cluster file; and
// what of it was out of service, from `sacctmgr -P show event`.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/record_time.h"
#include "model/installed.h"

namespace muster {

struct InstalledFile {
  std::vector<InstalledNode> nodes;  // with GPUs, each once
  std::uint64_t without_gpus = 0;
  std::uint64_t twice = 0;   // told again, or of several partitions: the first counts
  std::uint64_t differ = 0;  // of those: with another number of GPUs than the first time, which counts
};
Result<InstalledFile> parse_installed(std::string_view text, std::string_view file);

struct OutageFile {
  std::vector<NodeOutage> outages;
  std::uint64_t of_cluster = 0;    // rows without a node
  std::uint64_t other_states = 0;  // neither down nor held out of service: a node that saves power is only idle
  std::uint64_t wrong = 0;         // rows with times that are none, or that end before they begin
  std::uint64_t unsure_times = 0;  // local times that come twice or not at all
  std::uint64_t first_wrong = 0;   // line
  std::string some_state;          // one of the others
};
Result<OutageFile> parse_outages(std::string_view text, std::string_view file, const ZoneOffsets& zone = {});

}  // namespace muster
