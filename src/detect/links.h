// NIC links: down for a moment is a flap, down for longer is a cable, a port or a switch.
#pragma once
#include <map>

#include "detect/sign.h"

namespace muster::detect {

class Links {
 public:
  void take_over(const Finding& f);
  void on_kernel_record(const KernelRecord& r, Time mono, Signs& out);
  void on_sample(const Sample& m, Time mono, Signs& out);
  void on_turn(const State& s, Time utc, Time mono, Signs& out);
  Time next() const;
  bool down(NodeId n, std::int16_t slot) const { return down_.count({n, slot}) != 0; }

 private:
  using Port = std::pair<NodeId, std::int16_t>;
  struct Down {
    Time since;  // mono
    bool said = false;
    Evidence evidence;
  };
  void went_down(Port p, Time mono, Evidence e);
  void came_up(Port p, Time mono, Time at, Signs& out);
  std::map<Port, Down> down_;
  struct Peers {
    int seen = 0, active = 0;  // nodes
  };
  void note(Port p, bool active);
  bool in_use(Port p) const;
  std::map<Port, bool> ports_;           // known to have been active, or only ever seen down
  std::map<std::int16_t, Peers> peers_;  // of the same NIC on all nodes
};

}  // namespace muster::detect
