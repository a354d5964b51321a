// GPU health from scrapes: ECC and remap counters, NVLink and PCIe errors, lanes, temperature, GPUs that vanished.
#pragma once
#include <vector>

#include "detect/sign.h"

namespace muster::detect {

class Counters {
 public:
  explicit Counters(const Site& site);
  void take_over(const Finding& f);
  void on_sample(const Sample& m, const State& s, Signs& out);

 private:
  // The last value of each watched counter; NaN until the first sample, which only sets the baseline.
  double& last(const Sample& m, std::size_t column);
  void on_visible(const Sample& m, const State& s, Signs& out);

  std::uint32_t slots_;
  std::vector<double> last_;
  std::vector<std::uint32_t> lost_;  // per node: slots last seen missing
};

}  // namespace muster::detect
