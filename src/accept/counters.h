// Counters of the driver that acceptance looks at: what growth means during a run in which nothing else used the GPU, and which
// states no GPU may be left in.
#pragma once
#include <span>
#include <string_view>

#include "accept/judge.h"

namespace muster::accept {

struct CounterRule {
  std::string_view name;
  std::string_view title;
  double growth = -1;  // more than so much during the run is a trouble; below 0: growth says nothing
  double after = -1;   // ... and so is a value above this at the end
  Verdict verdict = Verdict::fail;
  Class kind = Class::memory;
  Part part = Part::memory;
  std::string_view next;
  bool needed = false;  // a GPU that does not tell it cannot be accepted
};

std::span<const CounterRule> counter_rules();

}  // namespace muster::accept
