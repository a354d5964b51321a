// The parts of the fold that are about hot rows and their power limits.
#pragma once
#include "model/state.h"

namespace muster {

void measure_row(State& s, const RowMeasured& m);
void limit_intended(State& s, const Action& a);
// A node of the row is up again, without the limit it had.
void limit_again(State& s, std::uint32_t row);
void limit_ended(State& s, const Action& a, bool done);
// Nothing is known of a row that is neither hot nor limited.
void cool_down(State& s, std::uint32_t row);

}  // namespace muster
