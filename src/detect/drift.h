// Nodes that run another driver, and NICs that run other firmware, than nearly all of their peers.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "detect/sign.h"

namespace muster::detect {

// "580.159.04"
std::string render_version(double v);

class Drift {
 public:
  explicit Drift(const Site& site);
  void on_sample(const Sample& m, Time mono);
  // At most every ten minutes, and only when something changed.
  void on_turn(const State& s, Time utc, Time mono, Signs& out);

  double driver(NodeId n) const { return drivers_[n.v].number; }  // 0: not known
  double firmware(NodeId n) const { return firmware_[n.v].number; }
  std::size_t nodes_with(bool driver, double number) const;
  // When a version was first seen, mono, if it came while others were in use already.
  std::optional<Time> pushed(bool driver, double number) const;

 private:
  struct Version {
    double number = 0;
    Time since;            // mono
    bool changed = false;  // it was another one before
  };
  void judge(std::vector<Version>& of, const char* what, const State& s, Time utc, Time mono, Signs& out);

  std::vector<Version> drivers_, firmware_;  // by node; firmware: the lowest of the node's NICs
  Time begun_;                               // mono, of the first version heard
  bool changed_ = false;
  Time looked_;
};

}  // namespace muster::detect
