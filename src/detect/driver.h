// What the driver says of a GPU when it is asked, and whether it answers at all.
#pragma once
#include <vector>

#include "detect/sign.h"

namespace muster::detect {

class Driver {
 public:
  explicit Driver(const Site& site) : silent_(site.nodes.size(), 0) {}
  void on_sample(const Sample& m, const State& s, Signs& out);

 private:
  std::vector<std::uint8_t> silent_;  // by node: looks in a row without an answer
};

}  // namespace muster::detect
