// Single kernels and small steps on a GPU: predicted, fitted to what was measured, and how far off on the rest.
#pragma once
#include <cmath>
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
  struct Pass {
    const Timing* timing;
    bool backward;
    double predicted_s, measured_s;

    double error() const { return std::abs(predicted_s / measured_s - 1); }
  };
  std::vector<Pass> kept_back;  // the nearest first
};
// Steps use the products and the attention that were fitted before them.
std::vector<TimingFamily> fit_timings(const GpuModel& gpu, std::span<const Timing> timings);

// What plans need of them, one for each number format: products and attention as fitted, the rest of a step by the compiled steps
// if there are any. What no single GPU can tell, such as communication, stays as it is in `start`.
std::vector<Calibration> calibrations(const Calibration& start, std::span<const TimingFamily> families);

}  // namespace muster::predict
