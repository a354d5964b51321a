// Two runs against each other, in words and as JSON.
#pragma once
#include <string>
#include <vector>

#include "diagnose/run_diff.h"

namespace muster::report {

std::vector<std::string> say_difference(const diagnose::RunDiff& d);
// `before`, `after`: what the two are, as they were named.
std::string difference_json(const diagnose::RunDiff& d, const std::string& before, const std::string& after);

}  // namespace muster::report
