// How much slower a job is than if nobody were slower than the rest, in words and as JSON.
#pragma once
#include <string>
#include <vector>

#include "diagnose/stragglers.h"

namespace muster::report {

std::vector<std::string> say_stragglers(const diagnose::Stragglers& s);
std::string stragglers_json(const diagnose::Stragglers& s);

}  // namespace muster::report
