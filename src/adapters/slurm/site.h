// The cluster as Slurm describes it: nodes with GPUs, and the switches above them.
#pragma once
#include "adapters/slurm/tools.h"
#include "model/site.h"

namespace muster::slurm {

// Leaves, and what is above them, from Slurm's topology; without one every node hangs on one leaf. Racks are not known to Slurm:
// a leaf's nodes stand for one, so that budgets by rack hold by leaf.
Result<Site> site_of(const std::vector<NodeRow>& nodes, const std::vector<SwitchRow>& switches, const std::string& name,
                     std::vector<std::string>* left_out = nullptr);
Result<Site> discover_site(Tools& tools);

}  // namespace muster::slurm
