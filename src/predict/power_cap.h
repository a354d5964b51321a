// What a power cap on a GPU saves and what it costs: energy against the time of the GPU, by curves that were measured. Between
// two measured caps of one curve a straight line is drawn; beyond them nothing is said.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/power_cap.h"

namespace muster::predict {

// One curve, the highest cap first, which counts as no cap.
std::vector<CapPoint> cap_curve(std::span<const CapPoint> all, std::string_view gpu, std::string_view bound);
// The curve at `cap_w`. An error where that was not measured: below the lowest cap, above the highest.
Result<CapPoint> cap_at(std::span<const CapPoint> curve, double cap_w);

struct CapSetting {
  double gpu_hour = 1;  // money a GPU costs in an hour whether it works or not; without its electricity
  double per_kwh = 0.08;
  double pue = 1.3;
  double host_w = 350;      // of the node, that goes with each GPU and does not fall with the cap
  double uncapped_w = 693;  // what the GPU draws without a cap
};

// All per unit of work: what a GPU does in an hour without a cap.
struct CapOutcome {
  double cap_w = 0;
  double time_ratio = 1;
  double power_w = 0;  // of the GPU, while it works
  double power_ratio = 1;
  double energy_ratio = 1;    // of the GPU
  double facility_ratio = 1;  // of GPU, host and cooling
  double facility_kwh = 0;
  double energy_money = 0;
  double time_money = 0;
  double total_ratio = 1;        // of all money
  double break_even = 0;         // GPU-hour rate below which the cap pays; below 0: it never does, infinite: it always does
  double per_mw_ratio = 1;       // work a megawatt of the site does, where power and not GPUs is what is short
  double gpus_per_mw_ratio = 1;  // GPUs that the same megawatt then feeds
};

CapOutcome cap_outcome(const CapPoint& at, const CapSetting& setting);

}  // namespace muster::predict
