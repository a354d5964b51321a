// The cluster as Slurm describes it: nodes with GPUs, and the switches above them.
#pragma once
#include "adapters/slurm/tools.h"
#include "model/site.h"

namespace muster::slurm {

// Leaves, and what is above them, from Slurm's topology; without one every node hangs on one leaf. Racks are not known to Slurm:
// a leaf's nodes stand for one, so that budgets by rack hold by leaf. A partition that has not all of them is a pool.
Result<Site> site_of(const std::vector<NodeRow>& nodes, const std::vector<SwitchRow>& switches, const std::string& name,
                     const std::vector<PartitionRow>& partitions = {}, std::vector<std::string>* left_out = nullptr);
// A journal's cluster does not change: what it knows stands, with the pools of today, where Slurm's nodes or switches are no
// longer the same. `news`: what is left aside, in words. Another cluster, by its name or the size of its nodes, is itself.
Site as_known(Site found, const Site& known, const std::vector<PartitionRow>& partitions, std::vector<std::string>* news);
Result<Site> discover_site(Tools& tools, const Site& known = {});

}  // namespace muster::slurm
