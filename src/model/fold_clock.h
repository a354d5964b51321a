// The wall clock against the one that nobody sets.
#pragma once
#include "model/state.h"

namespace muster {

// Keeps State::utc_jump. To be called before `now` becomes the state's.
void keep_clock(State& s, const Now& now);

}  // namespace muster
