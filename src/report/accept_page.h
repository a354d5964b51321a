// The acceptance of one node as a page that is one file: its verdict, what failed and what to do, every figure among its kind,
// power and heat over time, counters, and the raw samples.
#pragma once
#include <string>

#include "report/accept_parts.h"

namespace muster::report {

std::string accept_page(const AcceptedNode& node);

}  // namespace muster::report
