// Never: what the cluster, empty and whole, would not start, whatever its queue may have.
#pragma once
#include <string>

#include "model/state.h"

namespace muster::decide {

// Why, in words: it is too large for the cluster, or for its power caps. Empty: it would start.
std::string why_too_large(const State& s, const JobSpec& spec);
// Nodes that may be busy at once within the power caps of racks, rows and the site; all of them where there are none.
std::uint32_t busy_at_once(const State& s);
// "a power cap of the rack or the site": those that the site has.
std::string say_power_caps(const Site& site);

}  // namespace muster::decide
