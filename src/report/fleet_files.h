// What brings nodes to what they should be, as files of the tools that do it: only what differs, by wave.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "fleet/repair.h"
#include "model/site.h"
#include "report/slurm_files.h"

namespace muster::report {

// An inventory by wave, kind and change, variables of each change, a site that goes wave by wave and stops at the first failure,
// and the role that makes the changes. `whence`: of what it is the difference, for its comments.
std::vector<TextFile> ansible_site(const fleet::Repair& repair, std::string_view whence);
// user-data for the nodes of each change: "change_01.user-data.yaml". `base`: keys that stand in each of them besides, as YAML.
// An instance has one user-data: who gets a change's has to get these with it.
std::vector<TextFile> cloud_init_files(const fleet::Repair& repair, std::string_view whence, std::string_view base = {});
// Assertions that keep watch: "change_01.goss.yaml".
std::vector<TextFile> goss_files(const fleet::Repair& repair, std::string_view whence);
// Variables alone; what owns state is the site's own.
std::string tfvars(const fleet::Repair& repair, std::string_view whence);
// Firmware by wave and bundle, as tasks for whoever speaks Redfish with the controllers: JSON.
std::string redfish_tasks(const fleet::Repair& repair);

// ---- of nodes that are to be installed

// Everything a folder holds from which the nodes of a cluster are installed: `declared` are the changes declared for them,
// `ssh_keys` public keys as parse_ssh_keys gives them, who may log in.
std::vector<TextFile> provision_files(const Site& site, const fleet::Repair& declared, std::string_view whence,
                                      const std::vector<std::string>& ssh_keys);
// Packages that are pinned to a version, and so have to be offered by a repository that the image has: NVIDIA's or another.
std::vector<std::string> provision_packages(const fleet::Repair& declared);
// Nodes whose names one of the tools would take for something else, or refuse, and what was done about it.
std::vector<std::string> provision_names(const Site& site);

}  // namespace muster::report
