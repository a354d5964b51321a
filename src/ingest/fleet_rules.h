// Rules of what goes together in a fleet, as CSV: docs/formats/fleet_rules.md.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/fleet_rule.h"

namespace muster {

// As they ship: data/fleet/compat.csv, then data/fleet/host_settings.csv.
const std::vector<FleetRule>& fleet_rules();
// A site's own. An error names file, line and what would be right. Expressions are read later: fleet/check.h, validate_rules.
Result<std::vector<FleetRule>> read_fleet_rules(std::string_view text, const std::string& file);
// With header and line ends, so that read_fleet_rules gives the same rules again.
std::string render_fleet_rules(const std::vector<FleetRule>& rules);

// Rules made of NVIDIA's releases.json of data-centre drivers: until when each branch is kept up, which branches there are.
Result<std::vector<FleetRule>> rules_of_driver_releases(std::string_view json, const std::string& file);

}  // namespace muster
