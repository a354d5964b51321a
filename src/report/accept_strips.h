// Power, clock and temperatures of each GPU over a recording, with its tests as bands behind them: two drawings of each, for wide
// and for narrow screens.
#pragma once
#include <string>

#include "report/accept_parts.h"

namespace muster::report {

// Empty where there are no readings. Tests have the numbers that they have in `rows`.
std::string draw_strips(const AcceptedNode& node, const AcceptRows& rows);

}  // namespace muster::report
