// A measured training run: what ran where, and how long a step took.
#pragma once
#include <string>

#include "model/training_plan.h"
#include "model/transformer.h"

namespace muster {

struct TrainingRow {
  std::size_t row = 0;   // of the table, from 0
  std::string software;  // rows of one software, GPU and number format share a calibration
  std::string release;   // of that software; empty: not told
  std::string group;     // rows that belong together when data are split: one model on one layout of GPUs
  std::string gpu;       // GpuModel::name
  double node_gpus = 8;
  double nic_gb_s = 0;  // a GPU's share, one way; 0: what is usual
  Transformer model;
  TrainingPlan plan;
  double step_s = 0;  // measured; 0: not known
  // What its table tells instead: this column is `scale` times the step's time, or `scale` over it.
  std::string metric;
  double scale = 1;
  bool rate = false;

  double metric_of(double step) const { return rate ? scale / step : scale * step; }
};

}  // namespace muster
