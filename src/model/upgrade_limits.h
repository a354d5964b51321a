// What a rolling upgrade may use of the policy's limits: a part, for faults do not wait; all of them on its way back, which is a
// repair.
#pragma once
#include "model/state.h"

namespace muster {

double upgrade_share(const Upgrade& u);
// So much of a limit, one at least.
std::uint32_t part_of_limit(std::uint32_t limit, double share);
// How many more nodes of the cluster it may take out of service now; racks and domains have limits of their own.
std::uint32_t upgrade_slots(const State& s);

}  // namespace muster
