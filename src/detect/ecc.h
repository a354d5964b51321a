// GPU memory: uncorrectable errors, corrected ones at an unhealthy rate, rows that wait for a remap or could not be remapped.
#pragma once
#include <vector>

#include "detect/growth.h"
#include "detect/sign.h"

namespace muster::detect {

class Ecc {
 public:
  explicit Ecc(const Site& site);
  void on_sample(const Sample& m, Time mono, Signs& out);

 private:
  struct Memory {
    Counter uncorrectable, corrected, remapped;
    bool tells_pending = false;  // exports the flag, so that the number of remapped rows needs no guessing
  };
  std::uint32_t slots_;
  std::vector<Memory> memory_;
};

}  // namespace muster::detect
