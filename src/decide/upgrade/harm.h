// Harm: whether a new version does more of it than chance would.
#pragma once
#include <cstdint>
#include <string>

#include "model/state.h"

namespace muster::decide {

// Something is wrong with the node that a driver, firmware or system can be at fault for. Empty: nothing.
std::string trouble_on(const State& s, NodeId n);
// How many of the upgraded nodes went bad; nodes that failed before anything was installed do not count.
std::uint32_t bad_nodes(const Upgrade& u);
// Why the upgrade must not go on, in words; empty: it may.
std::string verdict(const State& s);
// Who was measured before and after is slower with it, beyond noise; empty: not as far as is known.
std::string slower_with_it(const Upgrade& u);
// P(X >= count) of a Poisson variable.
double poisson_tail(double mean, std::uint32_t count);

}  // namespace muster::decide
