#include "predict/step.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace muster::predict {
namespace {

constexpr double kWeightBytes = 2;

// `ranks` replicas, of which those in one NVLink domain are together: tensor ranks come first in a node, then replicas.
Group replicas(const GpuModel& gpu, const TrainingPlan& p, double ranks) {
  return {ranks, std::clamp(std::floor(gpu.domain / static_cast<double>(p.tp)), 1.0, ranks)};
}

double data_exchange_s(const GpuModel& gpu, const Calibration& c, const Links& links, const TrainingPlan& p,
                       const StageParams& own, double layers) {
  const Group all = replicas(gpu, p, p.replicas());
  double t = 0;
  if (p.shard == Shard::weights) {
    // Layer by layer: weights for each pass, gradients after the last. Where there are several copies, their gradients are summed
    // as well.
    const double pieces = p.pieces(), copies = p.replicas() / pieces;
    const Group g = replicas(gpu, p, pieces);
    const auto by_layer = [&](double bytes) { return layers * links.gather_s(g, own.shared * bytes / layers); };
    t = p.micro_batches() * 2 * by_layer(kWeightBytes) + by_layer(c.grad_bytes);
    if (copies > 1)
      t += links.all_reduce_s({copies, std::clamp(all.together / pieces, 1.0, copies)}, own.shared * c.grad_bytes / pieces);
  } else if (p.shard != Shard::none) {
    t = links.gather_s(all, own.shared * c.grad_bytes) + links.gather_s(all, own.shared * kWeightBytes);
  } else {
    t = links.all_reduce_s(all, own.shared * c.grad_bytes);
  }
  if (own.experts > 0) {
    const double ranks = p.expert_replicas();
    const Group e{ranks, std::clamp(std::floor(gpu.domain / static_cast<double>(p.ep)), 1.0, ranks)};
    // Where weights are in pieces those of experts are too, and gathered for each pass.
    const double passes = p.shard == Shard::weights ? 2 * p.micro_batches() : 1;
    t += links.gather_s(e, own.experts * c.grad_bytes) + passes * links.gather_s(e, own.experts * kWeightBytes);
  }
  return t;
}

}  // namespace

StageParams stage_params(const Transformer& m, const TrainingPlan& p) {
  const double moe = m.moe_layers(), dense = m.layers - moe;
  StageParams out;
  const double shared = m.layers * m.attention_params() + dense * m.mlp_params() + moe * m.shared_params();
  const double stage = static_cast<double>(p.stage_layers(m.layers)) / m.layers;  // share of all layers
  out.shared = shared * stage / p.tp + m.embedding_params() / p.tp * (p.pp > 1 || m.tied ? 1 : 2);
  out.experts = moe * stage * m.experts * m.expert_params() / p.ep;
  return out;
}

MicroTime MicroTime::mixed(const MicroTime& other, double share) const {
  MicroTime out = *this;
  if (share <= 0) return out;
  out.dense = dense.times(1 - share);
  out.dense.add(other.dense.times(share));
  out.moe = moe.times(1 - share);
  out.moe.add(other.moe.times(share));
  return out;
}

MicroTime micro_time(const GpuModel& gpu, const Calibration& c, const Network& network, const Transformer& m,
                     const TrainingPlan& p) {
  const double again = p.recomputed(m.layers);
  if (again > 0 && again < 1) {
    TrainingPlan none = p, all = p;
    none.recompute = Recompute::none;
    all.recompute_layers = 0;
    return micro_time(gpu, c, network, m, none).mixed(micro_time(gpu, c, network, m, all), again);
  }
  const Engine engine{&gpu, &c, p.dtype};
  const Links links(gpu, c, network);
  MicroTime out;
  if (m.layers > m.moe_layers()) out.dense = layer_time(engine, links, m, p, LayerKind::dense);
  if (m.moe_layers() > 0) out.moe = layer_time(engine, links, m, p, LayerKind::moe);
  out.head_s = head_s(engine, m, p);
  return out;
}

StepTime step_time(const GpuModel& gpu, const Calibration& c, const Network& network, const Transformer& m, const TrainingPlan& p,
                   const MicroTime& micro) {
  const Engine engine{&gpu, &c, p.dtype};
  const Links links(gpu, c, network);
  const double stages = p.pp, micros = p.micro_batches(), layers = p.stage_layers(m.layers);
  const double moe = layers * m.moe_layers() / m.layers;
  LayerTime stage = micro.dense.times(layers - moe);  // of all its layers, one micro-batch
  stage.add(micro.moe.times(moe));
  StepTime out;
  out.compute_s = micros * (stage.forward_s + stage.backward_s);
  out.tensor_s = micros * stage.tensor_s;
  out.context_s = micros * stage.context_s;
  out.expert_s = micros * stage.expert_s;
  out.head_s = p.pp == 1 ? micros * micro.head_s : micro.head_s + (micros - 1) * micro.head_s * c.head_exposed;
  double send = 0;
  if (p.pp > 1) {
    const double bytes = 2.0 * p.micro_batch * p.seq / p.cp * m.hidden / (p.sequence_parallel ? p.tp : 1);
    const bool within = static_cast<double>(p.tp) * p.cp * p.dp * p.pp <= gpu.domain;
    send = links.send_s(within, bytes);
    out.send_s = micros * 2 * send * p.vp * c.pp_exposed;
  }
  const double one = stage.all_s() + c.micro_ms * 1e-3;
  // Gradients of weights that are put off make a stage pass on what others wait for earlier, and fill where it would wait itself.
  const double put_off = p.zero_bubble ? 2 * stage.weights_s : 0;
  out.bubble_s = (stages - 1) / p.vp * std::max(0.0, one + 2 * send - put_off);
  const StageParams own = stage_params(m, p);
  // Exchanges among replicas run beside compute, pieces of weights beside all of it, gradients and new weights beside one pass,
  // and can be hidden by no more than there is of it.
  const double beside = (p.shard == Shard::weights ? micros : 1) * (stage.forward_s + stage.backward_s);
  const double data = data_exchange_s(gpu, c, links, p, own, layers);
  out.data_s = std::max(data * c.dp_exposed, data - beside);
  const bool pieces = p.shard != Shard::none;
  out.optimizer_s = stream_s(
      engine, c.optimizer_bytes * (own.shared / (pieces ? p.pieces() : 1) + own.experts / (pieces ? p.expert_replicas() : 1)));
  out.overhead_s = micros * (c.micro_ms * 1e-3 + stage.host_s) + c.step_ms * 1e-3;
  out.jitter_s = out.all_s() * c.jitter * std::max(0.0, det_log(p.gpus / network.node_gpus) / det_log(2));
  return out;
}

StepTime step_time(const GpuModel& gpu, const Calibration& c, const Network& network, const Transformer& m,
                   const TrainingPlan& p) {
  return step_time(gpu, c, network, m, p, micro_time(gpu, c, network, m, p));
}

}  // namespace muster::predict
