#pragma once
#include <string>

#include "base/result.h"
#include "model/action.h"

namespace muster {

// Whoever can carry out an order. Both calls are bounded in time; what comes of them arrives as an OrderEnded event.
struct Actuator {
  virtual ~Actuator() = default;
  // An error means: surely not done. Silence afterwards means: unknown.
  virtual Result<void> submit(const Order& order) = 0;
  // Asks what became of an order that may or may not have arrived; the answer (also `not_received`) comes as OrderEnded.
  virtual Result<void> inquire(const std::string& key) = 0;
};

}  // namespace muster
