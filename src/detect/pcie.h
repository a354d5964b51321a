// The PCIe link of a GPU: replays as a rate, lanes and speed against its peers, errors that the kernel reports.
#pragma once
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "detect/gauges.h"
#include "detect/growth.h"
#include "detect/sign.h"

namespace muster::detect {

class Pcie {
 public:
  explicit Pcie(const Site& site);
  void on_sample(const Sample& m, const Gauges& gauges, Time mono, Signs& out);
  void on_record(const KernelRecord& r, Time mono, Signs& out);
  // Lanes are judged when all of a scrape is in: a node whose GPUs all have eight was built so.
  void on_turn(Signs& out);

 private:
  struct Link {
    Counter replays, corrected;
    std::uint8_t lanes = 0, widest = 0;
    std::uint8_t gen = 0, slow = 0;  // samples in a row below its peers
  };
  Link& at(NodeId n, std::int16_t slot) { return links_[n.v * slots_ + static_cast<std::size_t>(slot)]; }
  void on_gen(const Sample& m, const Gauges& gauges, Signs& out);

  std::uint32_t slots_;
  std::vector<Link> links_;
  std::set<std::pair<NodeId, std::int16_t>> narrow_;  // to be judged in this turn
  Time narrow_at_;
  std::map<std::pair<NodeId, std::int16_t>, std::deque<Time>> corrected_;  // errors the kernel reported lately
};

}  // namespace muster::detect
