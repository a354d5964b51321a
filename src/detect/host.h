// The host's own memory, by its counters: one error that was not corrected is enough.
#pragma once
#include <vector>

#include "detect/growth.h"
#include "detect/sign.h"

namespace muster::detect {

class Host {
 public:
  explicit Host(const Site& site) : uncorrected_(site.nodes.size()) {}
  void on_sample(const Sample& m, Time mono, Signs& out);

 private:
  std::vector<Counter> uncorrected_;  // by node
};

}  // namespace muster::detect
