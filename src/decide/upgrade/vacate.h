// Vacate: a running job moved off nodes that wait for their upgrade, at the moment at which it loses least: just after a
// checkpoint.
#pragma once
#include <optional>
#include <span>

#include "decide/cluster_view.h"
#include "decide/decision.h"

namespace muster::decide {

// The job restarted so that it has none of `leave`: its other nodes, and free ones of `onto`. Nothing where they do not suffice,
// or where its owner forbids it. Just the place: the caller says why.
std::optional<Wanted> vacate(const State& s, ClusterView& view, const Job& j, std::span<const NodeId> leave,
                             std::span<const NodeId> onto);

}  // namespace muster::decide
