// Two profiles against each other, in words and as JSON.
#pragma once
#include <string>
#include <vector>

#include "diagnose/profile_diff.h"

namespace muster::report {

std::vector<std::string> say_difference(const diagnose::ProfileDiff& d);
std::string difference_json(const diagnose::ProfileDiff& d);

}  // namespace muster::report
