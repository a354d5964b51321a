// What a watch of a network tells (docs/fabric.md): each fault that stands is a finding, of each node whose own card or cable is
// at an end of it; else of the leaves whose nodes it touches, or of nobody. Told whole each time, so that what is not told any
// more is over; but only what the watch of the same network told, and what it could judge.
#pragma once
#include <set>
#include <string>
#include <tuple>

#include "detect/sign.h"
#include "model/event.h"

namespace muster::detect {

class FabricFaults {
 public:
  void take_over(const Finding& f);
  void on_event(const Body& b, const State& s, Time utc, Signs& out);

 private:
  using Key = std::tuple<NodeId, std::int16_t, std::string>;  // node, leaf, which network and what the fault is called
  std::set<Key> open_;
};

}  // namespace muster::detect
