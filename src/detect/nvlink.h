// NVLink errors of a GPU (CRC, replay, recovery, all links together) as a rate.
#pragma once
#include <vector>

#include "detect/growth.h"
#include "detect/sign.h"

namespace muster::detect {

class Nvlink {
 public:
  explicit Nvlink(const Site& site) : slots_(site.gpus_per_node), errors_(site.nodes.size() * site.gpus_per_node) {}
  void on_sample(const Sample& m, Time mono, Signs& out);

 private:
  std::uint32_t slots_;
  std::vector<Counter> errors_;
};

}  // namespace muster::detect
