#pragma once
#include "base/time.h"

namespace muster {

// The three clocks of wherever the cluster lives. In the twin they are simulated.
struct Clock {
  virtual ~Clock() = default;
  virtual Now now() const = 0;
};

}  // namespace muster
