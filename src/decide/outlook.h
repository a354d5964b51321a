// Outlook: why a queued job has not started, when it will, and what would make it start sooner.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "decide/schedule/forecast.h"
#include "decide/waiting.h"
#include "model/state.h"

namespace muster::decide {

// In words. Empty for a job that is not queued.
std::string why_not_started(const State& s, JobId job);
// What stands against a job's deadline, in words: it was missed, or will be by all that is known. Empty: nothing, or it has none.
// `starts`: when it is expected to, mono, where that is known.
std::string why_late(const State& s, const Job& j, std::optional<Time> starts = {});
// When a queued job is expected to start, mono; nothing where it is not queued or not looked at.
std::optional<Time> expected_start(const State& s, JobId job);
// For every queued job that may start some day, in the order in which they will be looked at. Times are mono. `at` rests on
// the median of run times, `late` on kLongRun of them: a forecast without its spread is believed too much.
std::vector<Forecast> forecasts(const State& s);
// "if what runs takes long, 14:05 (in 3h)"; empty where that makes no difference.
std::string if_late(const State& s, const Forecast& f);

}  // namespace muster::decide
