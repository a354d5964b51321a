// Facts from the nodes themselves: over ssh, by srun, from agents that run.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet_inventory_shown.h"
#include "fleet_options.h"
#include "model/fact_table.h"

namespace muster::cmd {

struct AskedNodes {
  NodeTroubles failed;
  std::vector<std::string> answered;
};

// The way that the options name. Adds to the table what nodes say, and says on stderr who does not answer and why.
Result<AskedNodes> ask_nodes(const FleetInventoryOptions& options, FactTable& table);

}  // namespace muster::cmd
