#pragma once
#include <map>
#include <string>

#include "base/result.h"
#include "base/value.h"

namespace muster {

// An agent may hand in what its node says, and nothing else that acts.
enum class Role { viewer, agent, operator_, admin };

// A question with an answer, JSON in and JSON out (explain, what-if, inject ...). Registered by the composition root, so that the
// API needs to know none of them. Must be safe to call from any thread.
struct Tool {
  virtual ~Tool() = default;
  virtual Role role() const = 0;  // who may call it
  virtual Result<std::string> call(const Value& input) = 0;
};

using Tools = std::map<std::string, Tool*>;

}  // namespace muster
