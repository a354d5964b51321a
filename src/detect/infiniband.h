// The errors of a NIC's link as rates, the speed it is trained to, and how often it went down between two looks.
#pragma once
#include <array>
#include <vector>

#include "detect/growth.h"
#include "detect/sign.h"

namespace muster::detect {

class Infiniband {
 public:
  explicit Infiniband(const Site& site);
  void on_sample(const Sample& m, const State& s, Time mono, Signs& out);

 private:
  static constexpr std::size_t kRules = 10;
  struct Port {
    std::array<Counter, kRules> counters;
    Counter symbols_by_hour;
    float best_rate = 0;
    std::uint8_t slow = 0;
  };
  void on_rate(Port& p, const Sample& m, Signs& out);

  std::uint32_t slots_;
  std::vector<Port> ports_;
};

}  // namespace muster::detect
