// Which nodes stand together, as far as facts or names tell: some values follow the rack, as a gateway does, and noise does too.
#pragma once
#include <cstdint>
#include <vector>

#include "model/fact_table.h"

namespace muster::fleet {

// By node, from 1; 0: not known. From node.rack or rack where most nodes have it, else from names such as r03n07, where several
// names share all but the last number. None at all where that gives one rack, or racks of one node.
std::vector<std::uint32_t> racks_of(const FactTable& table);

}  // namespace muster::fleet
