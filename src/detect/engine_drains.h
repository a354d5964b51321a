// Nodes that the engine took out of service by its own rules: a prolog that failed, a job it could not end.
#pragma once
#include "detect/sign.h"
#include "model/event.h"

namespace muster::detect {

void on_engine(const Body& b, const State& s, Time utc, Signs& out);

}  // namespace muster::detect
