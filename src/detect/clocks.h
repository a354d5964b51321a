// GPUs that run slower than they should, by their clock: braked by the power supply, or for no stated reason.
#pragma once
#include <vector>

#include "detect/gauges.h"
#include "detect/sign.h"

namespace muster::detect {

class Clocks {
 public:
  explicit Clocks(const Site& site);
  void on_sample(const Sample& m, const Gauges& gauges, double throttle_c, Signs& out);

 private:
  struct Gpu {
    std::uint8_t low = 0, braked = 0;  // samples in a row
    Time since;                        // utc, of the first low one
  };
  std::uint32_t slots_;
  std::vector<Gpu> gpus_;
};

}  // namespace muster::detect
