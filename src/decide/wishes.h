// Operators' wishes become orders. A person's word is not weighed against budgets, but it is written down like everything else.
#pragma once
#include "decide/decision.h"
#include "model/state.h"

namespace muster::decide {

void decide_wishes(const State& s, Decisions& out);

}  // namespace muster::decide
