#include "predict/groups.h"

#include <algorithm>

namespace muster::predict {

double Links::ring_bytes_per_s(const Group& g) const {
  const double nvlink = gpu_.nvlink_gb_s * 1e9 * calibration_.nvlink;
  if (g.within()) return nvlink;
  return std::min(nvlink, g.together * network_.nic_gb_s * 1e9 * calibration_.net);
}

double Links::all_reduce_s(const Group& g, double bytes) const {
  if (g.ranks <= 1) return 0;
  const double across = g.within() ? 0 : g.ranks / g.together;
  const double step_us = 2 * (g.ranks - 1 - across) * calibration_.nvlink_us + 2 * across * calibration_.net_us;
  return std::max(step_us, 0.0) * 1e-6 + 2 * (g.ranks - 1) / g.ranks * bytes / ring_bytes_per_s(g);
}

double Links::all_to_all_s(double near_bytes, double far_bytes) const {
  const double nvlink = gpu_.nvlink_gb_s * 1e9 * calibration_.nvlink * calibration_.all_to_all;
  const double net = network_.nic_gb_s * 1e9 * calibration_.net * calibration_.all_to_all;
  return (far_bytes > 0 ? calibration_.net_us : calibration_.nvlink_us) * 1e-6 + std::max(near_bytes / nvlink, far_bytes / net);
}

double Links::send_s(bool within, double bytes) const {
  return within ? calibration_.nvlink_us * 1e-6 + bytes / (gpu_.nvlink_gb_s * 1e9 * calibration_.nvlink)
                : calibration_.net_us * 1e-6 + bytes / (network_.nic_gb_s * 1e9 * calibration_.net);
}

}  // namespace muster::predict
