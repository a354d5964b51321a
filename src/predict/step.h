// How long one training step takes, and what the time goes into. All parts are seconds on the path of the slowest stage.
#pragma once
#include "model/calibration.h"
#include "model/training_plan.h"
#include "model/transformer.h"
#include "predict/groups.h"
#include "predict/layer.h"

namespace muster::predict {

struct StepTime {
  double compute_s = 0;  // layers, with what is computed again
  double head_s = 0;     // product with the vocabulary and the loss
  double tensor_s = 0;   // exchanges that compute does not hide
  double context_s = 0;
  double expert_s = 0;
  double send_s = 0;    // between stages
  double data_s = 0;    // gradients and weights among replicas
  double bubble_s = 0;  // stages that wait for the pipeline to fill and drain
  double optimizer_s = 0;
  double overhead_s = 0;  // of the software, for each micro-batch and step
  double jitter_s = 0;    // the slowest of many

  double all_s() const {
    return compute_s + head_s + tensor_s + context_s + expert_s + send_s + data_s + bubble_s + optimizer_s + overhead_s +
           jitter_s;
  }
};

// What one layer of each kind and the head take for one micro-batch. Depends on how a layer is split (tensor, context and expert
// ranks, micro-batch, recomputation, number format), and neither on stages nor on replicas: a search computes it once for many
// plans.
struct MicroTime {
  LayerTime dense;
  LayerTime moe;
  double head_s = 0;

  MicroTime mixed(const MicroTime& other, double share) const;  // `share` of the layers as the other has them
};
MicroTime micro_time(const GpuModel& gpu, const Calibration& calibration, const Network& network, const Transformer& model,
                     const TrainingPlan& plan);

// The plan must be possible: its parts divide what they split, and tp x cp x pp x dp are its GPUs.
StepTime step_time(const GpuModel& gpu, const Calibration& calibration, const Network& network, const Transformer& model,
                   const TrainingPlan& plan);
StepTime step_time(const GpuModel& gpu, const Calibration& calibration, const Network& network, const Transformer& model,
                   const TrainingPlan& plan, const MicroTime& micro);

// Parameters that one GPU of the fullest stage keeps, those of its experts apart: replicas of these are fewer.
struct StageParams {
  double shared = 0;
  double experts = 0;
};
StageParams stage_params(const Transformer& model, const TrainingPlan& plan);

}  // namespace muster::predict
