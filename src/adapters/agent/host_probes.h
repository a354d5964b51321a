// What the node itself says, without NVML: PCIe links and InfiniBand ports (sysfs), versions, mounts. Each runs in a probe's
// process.
#pragma once
#include <string>
#include <vector>

namespace muster::agent {

// In the lines of readings.h. `root` is "" or, in tests, a folder that stands for /.
std::string ask_sysfs(const std::string& root);
std::string ask_versions(const std::string& root);  // and what sits where

struct Mount {
  std::string path;
  std::string type;
};
// Mounts of network and cluster file systems, from the text of /proc/self/mounts.
std::vector<Mount> parse_mounts(std::string_view text);
std::vector<Mount> shared_mounts();
// Touches the file system behind a path; empty, or what is wrong.
std::string ask_mount(const std::string& path);
// Runs a site's own probe through /bin/sh; its exit code and the first line it prints.
std::string ask_command(const std::string& command);

}  // namespace muster::agent
