// Folders of files that muster fleet writes, and the difference of a fleet that several commands start from.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/repair.h"
#include "fleet_options.h"
#include "report/slurm_files.h"

namespace muster::cmd {

// Into a folder that may hold other files, but none of these with another text: a gres.conf that is in use is not written over.
Result<void> write_folder(const std::string& folder, const std::vector<report::TextFile>& files);
// What a repair does not do, and why, on the terminal.
void say_left_out(const fleet::Repair& repair);
// muster fleet emit ansible, cloud-init, goss, tfvars, redfish.
int emit_difference(const FleetEmitOptions& options);
// muster fleet provision join.
int join_node(const FleetProvisionOptions& options);

}  // namespace muster::cmd
