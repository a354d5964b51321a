// Parts of the fold that stand by themselves.
#pragma once
#include "model/state.h"

namespace muster {

// Where an incident stands while such an order is under way.
Stage stage_during(Verb v, Stage otherwise);
// The command an order was to carry out: one that the engine never got is given again, under a new key.
CommandGiven wish_of(const Order& o);
// The wall clock against the one that nobody sets: keeps `utc_jump`. Before `now` becomes the state's.
void keep_clock(State& s, const Now& now);

}  // namespace muster
