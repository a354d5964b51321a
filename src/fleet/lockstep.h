// What is of one driver release and runs only beside it: driver, modules, libraries, fabric manager, IMEX. It moves as one unit
// or not at all.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "fleet/repair.h"

namespace muster::fleet {

// Packages of the unit.
bool is_of_driver(std::string_view key);
// What a change of the driver changes too, to the same version.
std::span<const std::string_view> follow_driver();
// Why the unit of a node cannot move to one version by its wishes; empty: it can, or nothing of it moves. `kind`: who else should
// have what it has.
std::string why_apart(const FactTable& table, std::span<const std::uint32_t> kind, std::uint32_t node,
                      std::span<const Wish* const> wishes);

}  // namespace muster::fleet
