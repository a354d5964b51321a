// What was measured on a GPU: single kernels, and small training steps.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/training_plan.h"
#include "model/transformer.h"

namespace muster {

struct Timing {
  enum class Kind : std::uint8_t { gemm, attention, stream, step };

  Kind kind = Kind::gemm;
  std::string by;  // what computed it where there are several: "cudnn", "compiled"
  Dtype dtype = Dtype::bf16;
  double m = 0, n = 0, k = 0, groups = 1;              // of products side by side in one kernel
  double batch = 0, heads = 0, seq = 0, head_dim = 0;  // of an attention
  double bytes = 0;                                    // that go through memory
  Transformer model;                                   // of a step
  TrainingPlan plan;
  double forward_s = 0;   // of a step: all of it
  double backward_s = 0;  // 0: not measured
};
constexpr std::array<std::string_view, 4> names(Timing::Kind) { return {"gemm", "attention", "stream", "step"}; }

}  // namespace muster
