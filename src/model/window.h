// Maintenance windows: when the next one is open, in the site's own time.
#pragma once
#include <vector>

#include "base/time.h"
#include "model/policy.h"

namespace muster {

// How long until one of them is open; zero: one is now. Looks two weeks ahead at most.
Duration until_window(const std::vector<Window>& windows, Time utc);

}  // namespace muster
