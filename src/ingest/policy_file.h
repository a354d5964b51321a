// Policy files: what a site changes of the default policy, as YAML. docs/formats/policy.md is the format's page.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/policy.h"

namespace muster {

// What the file does not say stays as in default_policy().
Result<Policy> parse_policy(std::string_view text, std::string_view file);
// A policy that ships with Muster: "default" or "cautious".
Result<Policy> preset_policy(std::string_view name);
std::vector<std::string> preset_policy_names();

}  // namespace muster
