// Recovery: opens incidents from findings and moves each along its ladder: drain, care for the job, repair, test, return.
#pragma once
#include "decide/cluster_view.h"
#include "decide/decision.h"
#include "model/state.h"

namespace muster::decide {

void decide_recovery(const State& s, ClusterView& view, Decisions& out);

}  // namespace muster::decide
