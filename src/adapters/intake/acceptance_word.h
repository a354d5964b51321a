// What the acceptance tests of a node said, by way of its agent (docs/health/agent.md).
#pragma once
#include <optional>

#include "base/value.h"
#include "model/event.h"

namespace muster {

// Nothing where it is no such word. What is told of a GPU that the site has no slot for is told of the node.
std::optional<AcceptanceSaid> read_acceptance(const Value& acceptance, NodeId node, const Site& site);

}  // namespace muster
