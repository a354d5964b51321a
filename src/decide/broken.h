// Broken gangs: what becomes of a job whose attempt ended by a failure. Mended in place where spares are near, requeued, or given
// up.
#pragma once
#include "decide/cluster_view.h"
#include "decide/decision.h"

namespace muster::decide {

void decide_broken(const State& s, ClusterView& view, Decisions& out);
// Gangs that run with fewer nodes than they asked for, restarted in full at a checkpoint when nodes are free again.
void decide_growth(const State& s, ClusterView& view, Decisions& out);
// A gang with nodes that it can no longer use, and what mends it: other nodes near those it keeps. Nothing: there are none.
std::optional<Wanted> mend(const State& s, ClusterView& view, const Job& j);
// The same with fewer nodes than it has now: what is left of it, with the spares there are. Nothing: its owner wants all or
// nothing (spec.nodes_min), or too few are left.
std::optional<Wanted> mend_smaller(const State& s, ClusterView& view, const Job& j);

}  // namespace muster::decide
