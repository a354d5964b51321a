// Making room: what running jobs must do so that waiting ones can start. Preemption, pauses at checkpoints, and moves.
#pragma once
#include "decide/decision.h"
#include "decide/waiting.h"

namespace muster::decide {

// After a pass, on the tree with its starts taken. The tree is as before when this returns.
void make_room(const State& s, ClusterView& view, const Quotas& quotas, const Line& line, const Pass& pass, Decisions& out);

}  // namespace muster::decide
