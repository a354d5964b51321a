// The rules that a command of muster fleet works by.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "model/fleet_rule.h"

namespace muster::cmd {

// Those that ship and a site's own (a file; empty: none), whose id replaces one that ships; of them `only` these ids (none: all).
Result<std::vector<FleetRule>> rule_set(const std::string& site_file, const std::vector<std::string>& only);

}  // namespace muster::cmd
