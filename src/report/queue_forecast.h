// When each queued job is expected to start, why not yet, and what would make it sooner.
#pragma once
#include <string>

#include "model/state.h"

namespace muster::report {

// {"items":[{"job","place","starts_utc","late_utc","reserved","why","sooner":[...]}...]}, in the order in which they are looked
// at; `place` is null for those that are not in line.
std::string queue_forecast_json(const State& s);

}  // namespace muster::report
