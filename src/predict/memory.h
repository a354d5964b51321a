// What a training run keeps in a GPU's memory, by the fullest GPU there is.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "model/training_plan.h"
#include "model/transformer.h"

namespace muster::predict {

// How software keeps it. The usual: weights in 16 bits, gradients and the optimizer's state (master weights and Adam's two
// moments) in 32.
struct MemoryHabits {
  double weight_bytes = 2;
  double gradient_bytes = 4;
  double optimizer_bytes = 12;
  bool fused_attention = true;  // else the matrix of scores is kept
  double context_gb = 3;        // CUDA, NCCL's buffers, libraries' workspaces
  double lost = 0.05;           // to fragments, of what is kept
};

// What else people train with, by what is kept of it for each parameter beside the weights and gradients: a copy of the weights
// in 32 bits, and moments.
enum class Optimizer : std::uint8_t { adam, adam_bf16, adam_8bit, adafactor, muon, sgd };
constexpr std::array<std::string_view, 6> names(Optimizer) {
  return {"adam", "adam_bf16", "adam_8bit", "adafactor", "muon", "sgd"};
}
constexpr double state_bytes(Optimizer o) {
  switch (o) {
    case Optimizer::adam: return 12;      // two moments in 32 bits
    case Optimizer::adam_bf16: return 8;  // in 16
    case Optimizer::adam_8bit: return 6;
    case Optimizer::adafactor: return 4;  // a row and a column of them
    case Optimizer::muon:
    case Optimizer::sgd: break;  // one, in 32
  }
  return 8;
}

// In GB (1e9 bytes).
struct MemoryUse {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double logits = 0;
  double rest = 0;  // context and fragments

  double all() const { return weights + gradients + optimizer + activations + logits + rest; }
};

MemoryUse memory_use(const Transformer& model, const TrainingPlan& plan, const MemoryHabits& habits = {});

}  // namespace muster::predict
