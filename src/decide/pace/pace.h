// Pace: jobs that write their checkpoints when they are told to are told how often (by advice.h) and at what moment, so that no
// two of them are at the shared store at once.
#pragma once
#include <vector>

#include "decide/decision.h"
#include "model/state.h"

namespace muster::decide {

// A job that writes for `write_s` every `every_s`, once of these times at `at_s`; seconds on one clock.
struct Writer {
  double every_s = 0;
  double at_s = 0;
  double write_s = 0;
};

// Periods are a minute times a power of two: one is a multiple of the other, so two writers that do not meet never will. Costs at
// most 6 % of what checkpoints and failures cost together, for a period is at most 1.41 times off.
double period_near(double every_s);

struct Slot {
  double at_s = 0;    // the begin of a write, within one period after `from_s`
  double free_s = 0;  // between it and its neighbours, both sides together; below 0: they meet
};
// Where in the period of a further writer there is most room.
Slot widest_slot(const std::vector<Writer>& others, double every_s, double write_s, double from_s);
// How much of its room a writer shares with others, in seconds.
double overlap(const std::vector<Writer>& others, const Writer& w);

// How long a checkpoint of a job keeps the store busy, in seconds, by its last one.
double store_s(const Job& j);
// Whether a job that can be paced has just started or written a checkpoint.
bool pace_due(const State& s);
void decide_pace(const State& s, Decisions& out);

}  // namespace muster::decide
