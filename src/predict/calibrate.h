// From measured runs to calibrations, and from a run to the calibration that fits it best.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/calibration.h"
#include "model/training_row.h"
#include "predict/step.h"

namespace muster::predict {

// Runs are split by a hash of their group: two of three groups are fitted, the others are kept to see how well that went.
bool teaches(const TrainingRow& row);

// One calibration for each software, GPU and number format that has rows to learn from, and below it one for each release. What
// the GPUs and number formats of a software share is fitted to all of its rows at once: no family has enough of its own. Rows of
// a software that is not named are left out.
std::vector<Calibration> calibrate(std::span<const TrainingRow> rows, std::span<const GpuModel> gpus,
                                   std::span<const Software> software);

struct RunPrediction {
  StepTime time;
  double step_s = 0;
  double low_s = 0;  // eight of ten runs lie between these
  double high_s = 0;
  bool calibrated = false;  // on runs of the same software, GPU and number format; otherwise by the nearest there is
};

// Nothing at all fits: none of the calibrations is of this GPU.
std::optional<RunPrediction> predict_run(const TrainingRow& row, std::span<const GpuModel> gpus,
                                         std::span<const Calibration> calibrations);

struct ChosenCalibration {
  Calibration calibration;
  std::string words;  // where it is from
};
// For a plan that nobody has run yet: of this GPU and number format, and of this software or the one with the most rows behind
// it. Where the usual software was not measured on it but on one of `gpus` with the same chip, that. Where nothing was measured,
// what is known of software before anything is.
Result<ChosenCalibration> choose_calibration(std::span<const Calibration> calibrations, std::span<const Software> software,
                                             std::span<const GpuModel> gpus, const GpuModel& gpu, Dtype dtype,
                                             const std::string& name, bool experts);

}  // namespace muster::predict
