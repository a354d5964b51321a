// NVLink errors of a GPU (CRC, replay, recovery, all links together) as a rate; links that failed, one by one.
#pragma once
#include <vector>

#include "detect/growth.h"
#include "detect/sign.h"

namespace muster::detect {

class Nvlink {
 public:
  explicit Nvlink(const Site& site)
      : slots_(site.gpus_per_node), errors_(site.nodes.size() * site.gpus_per_node), failures_(errors_.size()) {}
  void on_sample(const Sample& m, Time mono, Signs& out);
  void on_failures(const Sample& m, const State& s, Time mono, Signs& out);

 private:
  std::uint32_t slots_;
  std::vector<Counter> errors_, failures_;
};

}  // namespace muster::detect
