// Outlook: why a queued job has not started, when it will, and what would make it start sooner.
#pragma once
#include <string>
#include <vector>

#include "decide/schedule/forecast.h"
#include "model/state.h"

namespace muster::decide {

// In words. Empty for a job that is not queued.
std::string why_not_started(const State& s, JobId job);
// For every queued job that may start some day, in the order in which they will be looked at. Times are mono.
std::vector<Forecast> forecasts(const State& s);

}  // namespace muster::decide
