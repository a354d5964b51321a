#include "predict/layer.h"

#include <algorithm>

namespace muster::predict {
namespace {

constexpr double kHalf = 2;      // bytes of an activation
constexpr double kCausal = 0.5;  // of the matrix of scores
constexpr double kBackwardStream = 1.6;
constexpr std::string_view kScores = "attention";
constexpr double kHostMoe = 2;  // launches of a layer with experts, over those of a dense one

// Collects operators with their times; a product's backward pass is one product for its input and one for its weights.
class Listing {
 public:
  Listing(const Engine& engine) : e_(engine) {}

  void gemm(std::string_view name, const Gemm& g) {
    if (g.m <= 0 || g.n <= 0) return;
    const double inputs = gemm_s(e_, {g.m, g.k, g.n, g.groups}), weights = gemm_s(e_, {g.k, g.n, g.m, g.groups});
    all.push_back({name, gemm_s(e_, g) + cast_s(g.groups * g.m * g.k), inputs + weights + cast_s(g.groups * g.m * g.n), g.flops(),
                   weights});
  }
  void grouped(std::string_view name, const Gemm& g) {
    gemm(name, g);
    if (all.empty() || all.back().name != name) return;
    const double one = g.groups * e_.calibration->expert_us * 1e-6;
    all.back().forward_s += one;
    all.back().backward_s += 2 * one;
    all.back().weights_s += one;
  }
  void stream(std::string_view name, double bytes) {
    const double t = stream_s(e_, bytes);
    all.push_back({name, t, kBackwardStream * t, 0});
  }
  void attention(const Attention& x, double score_bytes) {
    const Calibration& c = *e_.calibration;
    if (c.attention > 0) {
      const double t = attention_s(e_, x);
      all.push_back({kScores, t, c.attention_back * t, x.flops() * kCausal});
      return;
    }
    // Not fused: the whole matrix, masked or not, by products with a short inner length, and through memory.
    const double rate = e_.gpu->peak(Dtype::bf16) * c.gemm * x.head_dim / (x.head_dim + 64);
    const double t = x.flops() / rate + stream_s(e_, c.score_passes * score_bytes);
    all.push_back({kScores, t, 2 * t, x.flops()});
  }

  std::vector<Operator> all;

 private:
  // Values that are multiplied in fewer bits are read in 16 and written twice, as they are and transposed.
  double cast_s(double values) const {
    return e_.dtype == Dtype::bf16 ? 0 : stream_s(e_, values * (kHalf + 2 * e_.bytes_of_operand()) * e_.calibration->cast_passes);
  }

  const Engine& e_;
};

double tokens(const TrainingPlan& p) { return static_cast<double>(p.micro_batch) * p.seq / p.cp; }

void attention_block(Listing& list, const Transformer& m, const TrainingPlan& p) {
  const double t = tokens(p), tp = p.tp, h = m.hidden, n = m.heads;
  const double qk = m.kv_rank > 0 ? m.nope_dim + m.rope_dim : m.head_dim;
  const double v = m.kv_rank > 0 ? m.v_dim : m.head_dim;
  const double own = p.sequence_parallel ? tp : 1;
  list.stream("norms and residuals", kHalf * t * h * 8 / own);
  if (m.kv_rank > 0) {
    if (m.q_rank > 0) {
      list.gemm("q down", {t, static_cast<double>(m.q_rank), h});
      list.gemm("q up", {t, n * qk / tp, static_cast<double>(m.q_rank)});
    } else {
      list.gemm("q", {t, n * qk / tp, h});
    }
    list.gemm("kv down", {t, static_cast<double>(m.kv_rank + m.rope_dim), h});
    list.gemm("kv up", {t, n * (m.nope_dim + v) / tp, static_cast<double>(m.kv_rank)});
  } else {
    list.gemm("qkv", {t, (n + 2.0 * m.kv_heads) * m.head_dim / tp, h});
  }
  list.stream("rotary and transposes", kHalf * t * 2 * (n + 2.0 * m.kv_heads) * qk / tp);
  const double own_queries = static_cast<double>(p.seq) / p.cp, seen = m.attention_share(p.seq);
  const double scores = static_cast<double>(p.micro_batch) * own_queries * p.seq * seen * n / tp;
  // Queries and keys on one side and values on the other may differ in length (latent attention): two products, one mean length.
  list.attention({static_cast<double>(p.micro_batch), n / tp, (qk + v) / 2, own_queries, static_cast<double>(p.seq), seen},
                 kHalf * scores);
  list.gemm("attention out", {t, h, n * v / tp});
}

void mlp(Listing& list, const Transformer& m, const TrainingPlan& p) {
  const double t = tokens(p), tp = p.tp, h = m.hidden, f = m.ffn;
  list.gemm("mlp up", {t, (m.gated ? 2 : 1) * f / tp, h});
  list.stream("activation", kHalf * t * f / tp * (m.gated ? 3 : 2));
  list.gemm("mlp down", {t, h, f / tp});
}

// Tokens that this GPU sends to experts; with as many coming in, spread evenly over the experts that it keeps.
double routed(const Transformer& m, const TrainingPlan& p) { return tokens(p) / (p.sequence_parallel ? p.tp : 1) * m.top_k; }

void experts(Listing& list, const Transformer& m, const TrainingPlan& p) {
  const double h = m.hidden, f = m.expert_ffn, sent = routed(m, p);
  const double kept = static_cast<double>(m.experts) / p.ep, each = sent / kept;
  list.gemm("router", {sent / m.top_k, static_cast<double>(m.experts), h});
  list.stream("permute", kHalf * sent * h * 6);
  list.grouped("experts up", {each, (m.gated ? 2 : 1) * f, h, kept});
  list.stream("expert activation", kHalf * sent * f * (m.gated ? 3 : 2));
  list.grouped("experts down", {each, h, f, kept});
  if (m.shared_ffn > 0) {
    const double s = m.shared_ffn, t = tokens(p);
    list.gemm("shared up", {t, (m.gated ? 2 : 1) * s / p.tp, h});
    list.gemm("shared down", {t, h, s / p.tp});
  }
}

// Tokens to experts, or back. A token goes to another domain once, however many of its experts are there, and is copied on
// within.
double exchange_with_experts_s(const Links& links, const Transformer& m, const TrainingPlan& p, double domain) {
  const double together = std::min<double>(p.ep, domain), domains = p.ep / together;
  const double bytes = kHalf * routed(m, p) * m.hidden, own = bytes / m.top_k;
  double missed = 1;  // the chance that none of a token's experts is in a domain
  for (std::uint32_t i = 0; i < m.top_k; ++i) missed *= 1 - 1 / domains;
  return links.all_to_all_s(bytes * (together - 1) / together, own * (domains - 1) * (1 - missed));
}

}  // namespace

std::vector<Operator> operators(const Engine& engine, const Transformer& m, const TrainingPlan& p, LayerKind kind) {
  Listing list(engine);
  attention_block(list, m, p);
  if (kind == LayerKind::dense) {
    mlp(list, m, p);
  } else {
    experts(list, m, p);
  }
  return list.all;
}

LayerTime layer_time(const Engine& engine, const Links& links, const Transformer& m, const TrainingPlan& p, LayerKind kind) {
  const Calibration& c = *engine.calibration;
  LayerTime out;
  double scores = 0;
  for (const Operator& o : operators(engine, m, p, kind)) {
    out.forward_s += o.forward_s;
    out.backward_s += o.backward_s;
    out.weights_s += o.weights_s;
    if (o.name == kScores) scores = o.forward_s;
  }
  if (p.recompute == Recompute::full) out.backward_s += out.forward_s;
  if (p.recompute == Recompute::selective) out.backward_s += scores;
  const double domain = engine.gpu->domain;
  if (p.tp > 1) {
    const Group g{static_cast<double>(p.tp), std::min<double>(p.tp, domain)};
    const double passes = p.recompute == Recompute::full ? 3 : 2;  // two exchanges each
    // Products and exchanges are overlapped piece by piece within a domain only.
    out.tensor_s = 2 * passes * links.all_reduce_s(g, kHalf * tokens(p) * m.hidden) * (g.within() ? c.tp_exposed : 1);
  }
  if (p.cp > 1) {
    // Keys and values go round while scores are computed; backward their gradients too.
    const Group g{static_cast<double>(p.cp), std::clamp<double>(domain / p.tp, 1, p.cp)};
    const double bytes = 2 * kHalf * tokens(p) * m.kv_heads * m.head_dim / p.tp * p.cp;
    out.context_s = std::max(0.0, 3 * links.gather_s(g, bytes) - c.attention_back * scores);
  }
  if (kind == LayerKind::moe && p.ep > 1) {
    const double passes = p.recompute == Recompute::full ? 3 : 2;
    out.expert_s = 2 * passes * exchange_with_experts_s(links, m, p, domain) * c.ep_exposed;
  }
  const double passes = p.recompute == Recompute::full ? 4 : 3;  // the backward pass is as many launches as two forward
  const double launched_s = passes * c.layer_host_us * 1e-6 * (kind == LayerKind::moe ? kHostMoe : 1);
  out.host_s = std::max(0.0, launched_s - out.all_s());
  return out;
}

double head_s(const Engine& engine, const Transformer& m, const TrainingPlan& p) {
  constexpr double kLossBytes = 14;  // a logit, written and read in 32 and 16 bits
  const Engine half{engine.gpu, engine.calibration, Dtype::bf16};
  const double t = tokens(p), v = static_cast<double>(m.vocab) / p.tp, h = m.hidden;
  return gemm_s(half, {t, v, h}) + gemm_s(half, {t, h, v}) + gemm_s(half, {h, v, t}) + stream_s(half, t * v * kLossBytes);
}

}  // namespace muster::predict
