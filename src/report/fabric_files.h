// What a planned network is built, routed and scheduled with: the files that belong together, and the plan in figures.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "design/fabric_plan.h"
#include "report/slurm_files.h"
#include "report/table.h"

namespace muster::report {

struct FabricFileWishes {
  std::string opensm_folder = "/etc/opensm";  // where OpenSM will find what its configuration names
  std::uint32_t domain_nodes = 1;             // nodes that share one NVLink domain
};

// cables.csv, node_cables.csv, fabric.net, expected_ibnetdiscover.txt, opensm.conf, root_guids.txt, topology.conf, topology.yaml,
// node_labels.yaml, nccl_topology.xml and summary.json; for each later step those that change, in a folder "grow-N".
Result<std::vector<TextFile>> fabric_files(const design::FabricPlan& plan, const FabricFileWishes& wishes);

// One cable a row, both ends with rack and unit; only those that the step adds.
std::string render_cables_csv(const design::FabricPlan& plan, std::size_t step);
// The cables of nodes up to a step, as a cluster file takes them.
std::string render_node_cables(const design::FabricPlan& plan, std::size_t step);
std::string render_opensm_conf(const design::FabricPlan& plan, std::size_t step, const std::string& folder);
// What NCCL is to know of a node (NCCL_TOPO_FILE): which card is beside which GPU.
std::string render_nccl_topology(const design::FabricAsk& ask);
std::string render_fabric_summary(const design::FabricPlan& plan);

Table fabric_plan_table(const design::FabricPlan& plan);
// What is bought, step by step, with where the prices are from.
Table fabric_bill_table(const design::FabricPlan& plan);

}  // namespace muster::report
