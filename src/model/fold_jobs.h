// The parts of the fold that are about jobs of engines which decide for themselves.
#pragma once
#include "model/state.h"

namespace muster {

void amend_job(State& s, const JobAmended& b);
// The engine gave its nodes to somebody else: it has none, and gives none back.
void forget_place(State& s, Job& j);

}  // namespace muster
