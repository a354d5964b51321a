// What one layer of a transformer computes and sends for one micro-batch on one GPU, operator by operator.
#pragma once
#include <string_view>
#include <vector>

#include "model/training_plan.h"
#include "model/transformer.h"
#include "predict/groups.h"
#include "predict/kernels.h"

namespace muster::predict {

enum class LayerKind { dense, moe };

struct Operator {
  std::string_view name;
  double forward_s = 0;
  double backward_s = 0;
  double flops = 0;      // forward
  double weights_s = 0;  // of the backward pass: gradients of weights, which nobody waits for
};

struct LayerTime {
  double forward_s = 0;
  double backward_s = 0;  // with what is computed again
  double tensor_s = 0;    // exchange among tensor ranks that is not hidden, both ways
  double context_s = 0;
  double expert_s = 0;   // tokens to experts and back, both ways
  double host_s = 0;     // the GPU waits for the host's launches
  double weights_s = 0;  // part of backward_s: gradients of weights

  LayerTime times(double n) const {
    return {n * forward_s, n * backward_s, n * tensor_s, n * context_s, n * expert_s, n * host_s, n * weights_s};
  }
  void add(const LayerTime& t) {
    forward_s += t.forward_s;
    backward_s += t.backward_s;
    tensor_s += t.tensor_s;
    context_s += t.context_s;
    expert_s += t.expert_s;
    host_s += t.host_s;
    weights_s += t.weights_s;
  }
  double all_s() const { return forward_s + backward_s + tensor_s + context_s + expert_s + host_s; }
};

std::vector<Operator> operators(const Engine& engine, const Transformer& model, const TrainingPlan& plan, LayerKind kind);
LayerTime layer_time(const Engine& engine, const Links& links, const Transformer& model, const TrainingPlan& plan,
                     LayerKind kind);
// The last stage's own: product with the vocabulary and the loss, both ways.
double head_s(const Engine& engine, const Transformer& model, const TrainingPlan& plan);

}  // namespace muster::predict
