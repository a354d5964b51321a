// Files for a Slurm that runs a described cluster: fragments of its configuration, and what lets Muster place its jobs.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/site.h"

namespace muster::report {

struct SlurmWishes {
  std::string partition = "batch";
  std::string hardware;  // "CPUs=96 RealMemory=1000000", from slurm_hardware; empty: not known
  std::string folder = "/etc/slurm";
  std::string heartbeat = "/run/muster/heartbeat";
};

// A switch of the tree that Slurm places jobs by.
struct SlurmSwitch {
  std::string name;
  std::string nodes;     // a list
  std::string switches;  // a list
};
// The lines of topology.conf, and the document of topology.yaml (Slurm 25.05 and later). Leaves first.
std::string render_topology_conf(std::span<const SlurmSwitch> switches);
std::string render_topology_yaml(std::span<const SlurmSwitch> switches);

struct TextFile {
  std::string name;
  std::string text;
  bool program = false;  // to be executable
};

// muster.conf (for slurm.conf to include), gres.conf, topology.conf, topology.yaml, and for partitions that Muster places:
// muster.lua, a job_submit.lua that calls it, muster-release.sh with its service and timer.
std::vector<TextFile> slurm_files(const Site& site, const SlurmWishes& wishes);

// What `slurmd -C` prints on a node, cut to what slurm.conf may say of the hardware of all nodes alike.
Result<std::string> slurm_hardware(std::string_view text);

}  // namespace muster::report
