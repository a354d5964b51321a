// What the deciders say: facts to note (event bodies), and actions they want, each with its reason. Whether an action happens is
// the guard's business.
#pragma once
#include <variant>
#include <vector>

#include "model/event.h"

namespace muster::decide {

// Version of the rules; part of every run's record, and raised when a change here can change a decision.
constexpr std::uint32_t kRulesVersion = 5;

struct Wanted {
  Action action;
  Reason reason;
  Placement placement;  // start_job
};

using Decision = std::variant<Body, Wanted>;
using Decisions = std::vector<Decision>;

}  // namespace muster::decide
