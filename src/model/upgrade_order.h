// What can be upgraded, in which order, what moves with it and what may not be mixed meanwhile: data/fleet/upgrade_order.csv.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

struct UpgradeStep {
  std::string what;                // as people name it: "driver"
  std::uint32_t rank = 0;          // lower ones first
  std::vector<std::string> facts;  // that have its version; the first one says which a node has
  std::vector<std::string> stale;  // facts that it changes too, nobody knows to what
  std::vector<std::string> with;   // what moves to the same version in the same turn, where a node has it
  std::string apart;               // why no job may run on nodes with it and nodes without; empty: it may
  std::string rule;                // id, see data/fleet/compat.csv
  std::string about;
  std::string source;
  bool apart_in_domain = false;  // `apart` is about the nodes that a job has within one NVLink domain, not about all of them
};

}  // namespace muster
