// The faults that the twin can be given, for whoever offers them to choose from.
#pragma once
#include <string>

#include "base/value.h"

namespace muster::cmd {

// Of an injection: nothing is asked for, so that it is told what could be.
bool asks_for_faults(const Value& input);
// {"faults":[{"name":"gpu_off_bus","strikes":"gpu","needs_node":true},...]}; it strikes a gpu, a link, a node, the row, leaf or
// rack of a node, or the site.
std::string fault_list();

}  // namespace muster::cmd
