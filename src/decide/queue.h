// The queue: starts gangs first in, first out, and decides what becomes of broken ones.
#pragma once
#include "decide/decision.h"
#include "decide/placer.h"

namespace muster::decide {

void decide_queue(const State& s, Placer& placer, Decisions& out);
void decide_broken(const State& s, Decisions& out);
// In words: why a queued job has not started. Empty for a job that is not queued.
std::string why_not_started(const State& s, JobId job);

}  // namespace muster::decide
