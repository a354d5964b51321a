// The queue: which jobs start now and where, and who makes room for whom.
#pragma once
#include "decide/cluster_view.h"
#include "decide/decision.h"

namespace muster::decide {

// A queue that waits is looked at again after this, even if nothing happens: run times pass their estimates, prices change.
constexpr Duration kQueueBeat = minutes(1);

void decide_queue(const State& s, ClusterView& view, Decisions& out);
// The certificate of a choice, as the record keeps it.
Placement placement_of(const Site& site, const Choice& c, const Shape& shape);

}  // namespace muster::decide
