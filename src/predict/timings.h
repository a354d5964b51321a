// Single kernels and small steps on a GPU: predicted, fitted to what was measured, and how far off on the rest.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/calibration.h"
#include "model/timing.h"
#include "predict/kernels.h"

namespace muster::predict {

// One of three is kept back, by a hash of its shape.
bool teaches(const Timing& t);

struct TimedSeconds {
  double forward_s = 0;
  double backward_s = 0;
};
TimedSeconds timing_s(const GpuModel& gpu, const Calibration& c, const Timing& t);

// A kind of kernel, in one number format or by one library, with the calibration that was fitted to the part that teaches.
struct TimingFamily {
  Timing::Kind kind;
  std::string by;
  Calibration calibration;
  std::uint32_t fitted = 0;
  std::vector<double> errors;  // |predicted / measured - 1| of those that were kept back, smallest first
};
// Steps use the products and the attention that were fitted before them.
std::vector<TimingFamily> fit_timings(const GpuModel& gpu, std::span<const Timing> timings);

}  // namespace muster::predict
