// Fits the parameters of a calibration to measured runs: the mean of |log(predicted / measured)| is made small, so that a run
// that went wrong in ways no model knows does not pull the rest after it.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/calibration.h"

namespace muster::predict {

struct FitAsk {
  Calibration start;
  std::vector<std::string> free;  // names of calibration_fields() that may change, within their ranges
  std::function<double(const Calibration&)> loss;
  std::uint32_t starts = 4;  // from different points, the first as given
  std::uint64_t seed = 1;
};

// The simplex of Nelder and Mead, restarted. Hand-written: nothing else here needs a library for optimisation, and it is forty
// lines.
Calibration fit(const FitAsk& ask);

}  // namespace muster::predict
