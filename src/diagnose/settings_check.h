// Which of a run's settings cost time, and how much changing each would save by the model of a step.
#pragma once
#include <cstdint>
#include <vector>

#include "diagnose/finding.h"
#include "model/calibration.h"
#include "model/comm_settings.h"
#include "model/gpu_model.h"
#include "model/training_plan.h"
#include "model/transformer.h"
#include "predict/groups.h"

namespace muster::diagnose {

struct SettingsAsk {
  const CommSettings& settings;
  const Transformer& model;
  const TrainingPlan& plan;
  const GpuModel& gpu;
  const Calibration& calibration;
  predict::Network network;
  double step_s = 0;          // as measured; 0: as predicted
  double used_memory_gb = 0;  // as measured; 0: not told
};

// The largest first. Savings are seconds by the model, with the spread that its predictions have, over the step's own or the
// predicted, whichever is longer.
std::vector<Finding> check_settings(const SettingsAsk& ask);

// What is wrong with switches whatever the model, the plan and the GPU: for a run of which nothing can be predicted, so without
// what changing them saves. `gpus`: 0 where it is not known.
std::vector<Finding> check_switches(const CommSettings& settings, std::uint32_t gpus);

}  // namespace muster::diagnose
