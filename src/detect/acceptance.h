// What the acceptance tests of a node say (docs/accept.md): each fault is a finding of its GPU, or of the node, until the GPU
// passes them or another one is in its place. One finding for each kind of fault: the part that it names is that of the first
// word.
#pragma once
#include "detect/sign.h"
#include "model/event.h"

namespace muster::detect {

void on_acceptance(const Body& b, const State& s, Time utc, Signs& out);

}  // namespace muster::detect
