#include "predict/memory.h"

#include <algorithm>
#include <cmath>

#include "predict/step.h"

namespace muster::predict {
namespace {

constexpr double kGiga = 1e9;
constexpr double kHalf = 2;    // bytes of an activation
constexpr double kScores = 5;  // bytes of a score that is kept: softmax, mask, what is left of it (Korthikanti 2022, section 4.1)
constexpr double kLogits = 10;  // bytes of a logit: 16 bits, 32 for the loss, 32 for its gradient

// Bytes that one layer keeps of one micro-batch for its backward pass.
double layer_bytes(const Transformer& m, const TrainingPlan& p, const MemoryHabits& habits, bool moe) {
  const double tokens = static_cast<double>(p.micro_batch) * p.seq / p.cp, tp = p.tp, h = m.hidden;
  const double own = p.sequence_parallel ? tp : 1;  // what the tensor ranks do not split by themselves
  if (p.recompute == Recompute::full) return kHalf * tokens * h / own;
  const double qk = m.kv_rank > 0 ? m.nope_dim + m.rope_dim : m.head_dim, v = m.kv_rank > 0 ? m.v_dim : m.head_dim;
  const double kv = m.kv_rank > 0 ? m.heads : m.kv_heads;
  // The inputs of both norms and of both blocks; queries, keys and values; what the attention gives.
  double bytes = kHalf * tokens * (4 * h / own + (m.heads * qk + kv * (qk + v)) / tp + m.heads * v / tp);
  if (m.kv_rank > 0) bytes += kHalf * tokens * (m.q_rank + m.kv_rank + m.rope_dim);
  const double inner = m.gated ? 3 : 2;  // what enters the activation and what leaves it
  if (moe) {
    const double sent = tokens / own * m.top_k;
    bytes += kHalf * sent * (h + inner * m.expert_ffn + h) + kHalf * tokens * inner * m.shared_ffn / tp;
  } else {
    bytes += kHalf * tokens * inner * m.ffn / tp;
  }
  if (!habits.fused_attention && p.recompute == Recompute::none)
    bytes += kScores * static_cast<double>(p.micro_batch) * p.seq * p.seq / p.cp * m.heads / tp;
  return bytes;
}

}  // namespace

MemoryUse memory_use(const Transformer& m, const TrainingPlan& p, const MemoryHabits& habits) {
  const StageParams own = stage_params(m, p);
  const auto kept = [&](double bytes, Shard from) {
    const bool pieces = p.shard >= from;
    return bytes * (own.shared / (pieces ? p.pieces() : 1) + own.experts / (pieces ? p.expert_replicas() : 1)) / kGiga;
  };
  MemoryUse out;
  out.weights = kept(habits.weight_bytes, Shard::weights);
  if (p.shard == Shard::weights) {
    // Two layers are whole at any time: the one that is computed and the one that comes.
    const double layers = p.stage_layers(m.layers);
    out.weights += std::min(2.0, layers) / layers * habits.weight_bytes * (own.shared + own.experts) / kGiga;
  }
  out.gradients = kept(habits.gradient_bytes, Shard::gradients);
  out.optimizer = kept(habits.optimizer_bytes, Shard::optimizer);
  // The first stage has as many micro-batches under way as there are stages; interleaved ones some more.
  const double stage = p.stage_layers(m.layers), moe = stage * m.moe_layers() / m.layers, dense = stage - moe;
  const double under_way = std::min(static_cast<double>(p.pp), std::ceil(p.micro_batches())) *
                           (p.vp > 1 ? 1 + (p.pp - 1) / (static_cast<double>(p.pp) * p.vp) : 1);
  const auto layers = [&](Recompute how) {
    TrainingPlan as = p;
    as.recompute = how;
    return (dense > 0 ? dense * layer_bytes(m, as, habits, false) : 0) + (moe > 0 ? moe * layer_bytes(m, as, habits, true) : 0);
  };
  const double again = p.recomputed(m.layers);
  const double one = again <= 0 ? layers(p.recompute) : again * layers(Recompute::full) + (1 - again) * layers(Recompute::none);
  // And whole, of the layer that is being computed again.
  double working = 0;
  if (again > 0) working = layers(Recompute::selective) / (dense + moe);
  out.activations = (under_way * one + working) / kGiga;
  const double logits = kLogits * p.micro_batch * p.seq / static_cast<double>(p.cp) * m.vocab / p.tp / kGiga;
  // With several stages the last has the logits, but only one micro-batch under way.
  out.logits = p.pp == 1 ? logits : std::max(0.0, logits - (under_way - 1) * one / kGiga);
  out.rest = habits.context_gb + habits.lost * out.all();
  return out;
}

}  // namespace muster::predict
