// An operator's command from a request body, checked against what the cluster is now.
#pragma once
#include "base/result.h"
#include "base/value.h"
#include "model/state.h"

namespace muster::api {

// bad_input, not_found or conflict, each saying which field. `id` and `actor` are left to the caller where the body has no id.
Result<CommandGiven> parse_command(const Value& body, const State& state);

}  // namespace muster::api
