// A reading of the live fabric in a process of its own. The libraries were written for tools that ask once and end: agents that
// they register, memory and whatever breaks in them end with the reading, and a watch that runs for months is not touched.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "adapters/infiniband/discover.h"

namespace muster::infiniband {

// What discover() gives, and its errors; besides, where it took longer than `limit_s`, or the process did not get to its end.
// `stop` is asked several times a second: true ends it. No other thread may run meanwhile.
Result<Discovered> discover_apart(const DiscoverAsk& ask, double limit_s, const std::function<bool()>& stop);

// What goes from one process to the other. An error where it is torn.
std::string pack(const Result<Discovered>& found);
Result<Discovered> unpack(std::string_view bytes);

}  // namespace muster::infiniband
