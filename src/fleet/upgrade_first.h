// Who goes first in a rolling upgrade, and where it would leave an NVLink domain in two halves.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/upgrade_plan.h"
#include "model/site.h"

namespace muster::fleet {

// A node of the plan.
struct FirstNode {
  std::size_t node = 0;  // of the site
  std::size_t kind = 0;  // dense from 0: nodes of one kind are equal in hardware
};

// Canaries from as many kinds, domains and racks as there are, then the waves. `wanted`: 0: chosen. An error: too many.
Result<void> choose_first(const Site& site, const std::vector<FirstNode>& nodes, std::uint32_t wanted, UpgradePlan& plan);

// "NVLink domain 0 (node[0001-0004])" of which some nodes and not all are in the plan or have it already: places in the site.
struct CutDomain {
  std::string name;
  std::size_t nodes = 0, planned = 0;
};
std::vector<CutDomain> cut_domains(const Site& site, const std::vector<std::size_t>& planned,
                                   const std::vector<std::size_t>& done);

}  // namespace muster::fleet
