// What is said of nodes of one kind besides who differs: of whom there is too little to say that they do not.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "fleet/golden.h"

namespace muster::fleet {

// Nodes of which fewer than half as many facts are known as of the middle one of their kind, or nothing at all; ascending. Nobody
// can say that such a node agrees with the others.
std::vector<std::uint32_t> hardly_known(const FactTable& table, std::span<const Cohort> kinds);

}  // namespace muster::fleet
