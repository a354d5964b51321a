// Cost files: one YAML file says what a site of GPUs is made of and what each part costs. docs/cost.md is the format's page.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/cost_site.h"

namespace muster {

// Errors are "file:line: reason"; keys that nobody asked for are refused with the nearest name.
Result<CostSite> parse_cost_site(std::string_view text, std::string_view file);

// One that ships with Muster, "h200-1024-colo" and so on.
Result<CostSite> shipped_cost_site(std::string_view name);
std::vector<std::string> shipped_cost_site_names();

// "power.pue", "1.2": a key of the file, or its last word where that is one key's alone; and a number, three of them as
// "low/likely/high", or for cooling a word.
using CostSetting = std::pair<std::string, std::string>;
// A PUE belongs to the cooling it was written for: with another cooling that one's usual PUE holds, unless it is given too.
Result<CostSite> change_cost_site(const CostSite& site, const std::vector<CostSetting>& settings);

}  // namespace muster
