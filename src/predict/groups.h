// How fast a group of ranks exchanges data: which links it crosses, and who else uses them.
#pragma once
#include "model/calibration.h"
#include "model/gpu_model.h"

namespace muster::predict {

struct Network {
  double node_gpus = 8;  // that share the node's network cards
  double nic_gb_s = 0;   // of each GPU's share of them, one way
};

// `ranks` of which `together` share an NVLink domain. Ranks of one group that are in one domain share the way out with nobody but
// each other, so their ring leaves through all of their cards.
struct Group {
  double ranks = 1;
  double together = 1;

  bool within() const { return together >= ranks; }
};

class Links {
 public:
  Links(const GpuModel& gpu, const Calibration& calibration, const Network& network)
      : gpu_(gpu), calibration_(calibration), network_(network) {}

  double ring_bytes_per_s(const Group& g) const;
  double all_reduce_s(const Group& g, double bytes) const;
  // Half of an all-reduce: all-gather or reduce-scatter of `bytes` in all.
  double gather_s(const Group& g, double bytes) const { return all_reduce_s(g, bytes) / 2; }
  // Every rank sends `near_bytes` to others of its domain and `far_bytes` beyond, evenly.
  double all_to_all_s(double near_bytes, double far_bytes) const;
  double send_s(bool within, double bytes) const;

 private:
  const GpuModel& gpu_;
  const Calibration& calibration_;
  Network network_;
};

}  // namespace muster::predict
