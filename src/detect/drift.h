// Nodes that run another driver, and NICs that run other firmware, than nearly all of their peers.
#pragma once
#include <map>
#include <vector>

#include "detect/sign.h"

namespace muster::detect {

class Drift {
 public:
  explicit Drift(const Site& site);
  void on_sample(const Sample& m, Time mono);
  // At most every ten minutes, and only when something changed.
  void on_turn(const State& s, Time utc, Time mono, Signs& out);

 private:
  struct Version {
    double number = 0;
    Time since;  // mono
  };
  void judge(std::vector<Version>& of, const char* what, const State& s, Time utc, Time mono, Signs& out);

  std::vector<Version> drivers_, firmware_;  // by node; firmware: the lowest of the node's NICs
  bool changed_ = false;
  Time looked_;
};

}  // namespace muster::detect
