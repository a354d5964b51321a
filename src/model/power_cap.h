// How long the same work takes under a power cap, and what energy, as measured.
#pragma once
#include <string>

namespace muster {

struct CapPoint {
  std::string gpu;    // "h200"
  std::string bound;  // "compute", "memory", "training"
  double cap_w = 0;
  double time_ratio = 1;    // to the same work without a cap
  double energy_ratio = 1;  // of the GPU alone
  double power_w = 0;       // what it drew; 0: only the ratios are known
  std::string work;
  std::string source;
};

}  // namespace muster
