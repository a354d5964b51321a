// What this node is and runs, read once: the sweep over all that data/fleet/facts.csv says can be read.
#pragma once
#include <string>

#include "adapters/facts/host.h"
#include "base/result.h"
#include "model/fact_table.h"

namespace muster::facts {

struct ProbeOptions {
  std::string node;        // what it is called
  std::string root;        // a folder that stands for /; empty: none
  bool live = true;        // /proc and /sys below it are of a kernel that runs
  std::string nvml;        // library to ask besides, which opens the GPUs; empty: none
  double cpu_ms_most = 4;  // of the sweep; the search for NCCL in the memory of jobs ends there
};

struct Sweep {
  std::size_t facts = 0;  // that are known now: values, and what is absent or unreadable
  std::size_t values = 0;
  double cpu_ms = 0;  // of this process, for the sweep
};

// An error: there is no such folder, or NVML does not answer; what was read until then is in the table.
Result<Sweep> read_host(const ProbeOptions& options, const FactBook& book, FactTable& into);

}  // namespace muster::facts
