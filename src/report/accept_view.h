// What a recording of acceptance tests says, for a terminal and for programs.
#pragma once
#include <string>

#include "report/accept_parts.h"

namespace muster::report {

// The first line is accept_sentence() and stands alone. `wide`: every figure and every test.
std::string render_accept(const AcceptedNode& node, bool colour, bool wide = false);
// All of it: suite, host, GPUs with verdict, figures, percentiles, tests and counters, troubles, the kernel's words, notes.
std::string accept_json(const AcceptedNode& node);

}  // namespace muster::report
