// Whether a training run is as fast as it should be: its own log and settings against what the model of a step predicts for the
// same plan on the same GPUs.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/profile.h"
#include "diagnose/step_times.h"
#include "model/calibration.h"
#include "model/comm_settings.h"
#include "model/gpu_model.h"
#include "model/step_log.h"
#include "model/training_plan.h"
#include "model/transformer.h"
#include "predict/groups.h"
#include "predict/step.h"

namespace muster::diagnose {

// Which GPU a log was written on, by its name or by what else fits it alone of all that are known.
struct GpuGuess {
  const GpuModel* gpu = nullptr;  // none: it cannot be told
  std::string words;              // "the log names it: NVIDIA H100 80GB HBM3"
};
GpuGuess guess_gpu(const StepLog& log, std::span<const GpuModel> gpus);

struct RunMaterial {
  const StepLog& log;
  CommSettings settings;
  std::optional<Transformer> model;
  std::optional<TrainingPlan> plan;
  std::string no_plan;            // why there is none
  const GpuModel* gpu = nullptr;  // none: not known
  std::string gpu_from;
  predict::Network network;  // with no rate: what is usual beside the GPU
  std::span<const GpuModel> gpus;
  std::span<const Calibration> calibrations;
  std::span<const Software> software;
  std::uint32_t batch = 0;  // samples a step, as the configuration has it; 0: not told
};

struct ExpectedStep {
  double step_s = 0, low_s = 0, high_s = 0;  // eight of ten runs lie between these
  predict::StepTime parts;
  std::string basis;
  std::string others;  // whose runs it is from, where none of the run's own framework was measured: "megatron-core"
};

enum class Pace : std::uint8_t { unknown, as_expected, slower, faster };
constexpr std::array<std::string_view, 4> names(Pace) { return {"unknown", "as expected", "slower", "faster"}; }

// A phase by the framework's own timers.
struct PhaseShare {
  std::string name;
  double mean_ms = 0;     // of the slowest rank
  double share_pct = 0;   // of a step
  double spread_pct = 0;  // of that, what the fastest rank takes less
  bool ranks = false;     // the spread was told
};

struct RunCheck {
  std::string framework;
  std::uint32_t gpus = 0;
  std::string gpu, gpu_from;
  StepTimes times;
  StepClock clock = StepClock::none;  // what times of steps were taken from,
  std::uint32_t clock_batch = 0;      // and for how many samples, where that is a rate
  double samples_per_s = 0;           // as the framework counts; 0: not told
  double tflops = 0;                  // of one GPU, counted from the model; 0: it is not known
  double mfu_pct = 0;
  double reported_tflops = 0, reported_mfu_pct = 0;  // as the framework counts; 0: not told
  double tokens_per_s = 0;                           // of all GPUs
  std::optional<ExpectedStep> expected;
  Pace pace = Pace::unknown;
  Confidence confidence = Confidence::low;  // in the pace
  double off_pct = 0;                       // of the expected step: how much longer it took
  std::vector<PhaseShare> phases;           // the longest first
  std::vector<Finding> findings;            // the costliest first
  std::vector<std::string> cannot;          // what could not be judged, and why
};

RunCheck check_run(const RunMaterial& given);

// What most of the step should go into, by the prediction for it; computing where there is none.
Bound run_bound(const RunCheck& check);

}  // namespace muster::diagnose
