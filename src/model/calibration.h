// How much of a GPU's and a network's data sheet a family of software gets: fitted once per GPU, number format and release on
// measured runs, kept in data/calibration/.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/gpu_model.h"

namespace muster {

struct Calibration {
  std::string software;  // "megatron-deepspeed"
  std::string release;   // empty: for those that have none of their own
  std::string gpu;       // GpuModel::name
  Dtype dtype = Dtype::bf16;

  // Compute. Shares of the data sheet are at most 1.
  double gemm = 0.75;         // of the peak, for large and even products
  double gemm_k_half = 150;   // inner length at which half of that is reached
  double gemm_waves = 1;      // share of the last wave's idle multiprocessors that is lost; 0: the rest of the work fills them
  double kernel_us = 0;       // before a product begins
  double attention = 0.5;     // of the 16-bit peak, by the fused kernel with heads of 128; 0: not fused, scores go through memory
  double attention_tail = 0;  // of the longest row of tiles, in which the others have nothing left to do
  double attention_us = 0;    // before it begins
  double attention_back = 2.5;  // backward over forward: scores are computed once more, and two products become five
  double score_passes = 0;      // over the matrix of scores, where they do
  double hbm = 0.8;             // of the memory's rate
  double cast_passes = 1;       // over what is multiplied in fewer than 16 bits, to bring it there
  double expert_us = 0;         // for each expert in a product of many: sorting tokens, filling tiles, waiting for the fullest
  double layer_host_us = 70;    // the host needs so long to launch one layer forward: kernels that are shorter wait for it

  // Communication.
  double nvlink = 0.75;  // of the rate one way
  double nvlink_us = 8;  // a step of a ring
  double net = 0.8;
  double net_us = 20;
  double all_to_all = 0.6;  // of what a ring gets
  double tp_exposed = 1;    // shares that are not hidden behind compute
  double ep_exposed = 1;
  double dp_exposed = 1;
  double pp_exposed = 1;
  double head_exposed = 1;  // of the last stage's own work: what is not made up for by giving it fewer layers
  double grad_bytes = 4;    // a parameter, when gradients are summed

  // The rest.
  double micro_ms = 0;          // for each micro-batch of a stage
  double step_ms = 0;           // for each step
  double optimizer_bytes = 20;  // read and written, a parameter
  double jitter = 0;            // of the step, for each doubling of the GPUs beyond one node

  // Eight of ten runs lie between these shares of the prediction, by what was left on the rows that it was fitted on.
  double low = 0.8;
  double high = 1.25;
  std::uint32_t rows = 0;  // that it was fitted on
};

// What is known of a software before anything is measured: where a fit begins, and which parameters it may change, the most
// telling first. The rest cannot be told apart by the runs there are.
enum class UsualFor : std::uint8_t { nothing, dense, experts };
constexpr std::array<std::string_view, 3> names(UsualFor) { return {"", "dense", "experts"}; }

struct Software {
  Calibration start;
  std::vector<std::string> free;           // shared by all its GPUs and number formats, but for `own`
  std::string by_release;                  // the parameter that differs from release to release; empty: none
  UsualFor usual_for = UsualFor::nothing;  // models that are taken to run on it where nobody says on what
  std::string own = "gemm";                // which each GPU and format has for itself; if another, large products go as elsewhere
};

// A parameter by name, its physical range, and where it is kept.
struct CalibrationField {
  const char* name;
  double Calibration::*value;
  double min, max;
};
const std::vector<CalibrationField>& calibration_fields();

}  // namespace muster
