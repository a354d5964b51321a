#include "model/transformer.h"

namespace muster {

double Transformer::attention_params() const {
  const double h = hidden, n = heads;
  if (kv_rank > 0) {
    const double qk = nope_dim + rope_dim;
    const double q = q_rank > 0 ? h * q_rank + q_rank * n * qk : h * n * qk;
    return q + h * (kv_rank + rope_dim) + kv_rank * n * (nope_dim + v_dim) + n * v_dim * h;
  }
  return h * head_dim * 2.0 * (n + kv_heads);
}

double Transformer::mlp_params() const { return (gated ? 3.0 : 2.0) * hidden * ffn; }
double Transformer::expert_params() const { return (gated ? 3.0 : 2.0) * hidden * expert_ffn; }
double Transformer::shared_params() const { return (gated ? 3.0 : 2.0) * hidden * shared_ffn; }

double Transformer::params() const {
  const double moe = moe_layers(), dense = layers - moe;
  return layers * attention_params() + dense * mlp_params() + moe * (experts * expert_params() + shared_params()) +
         (tied ? 1 : 2) * embedding_params();
}

double Transformer::attention_share(double seq) const {
  if (window == 0 || window >= seq) return 1;
  const double w = window / seq;
  return 1 - windowed + windowed * (2 * w - w * w);
}

double Transformer::flops_per_token(double seq) const {
  const double moe = moe_layers(), dense = layers - moe;
  const double active = layers * attention_params() + dense * mlp_params() +
                        moe * (top_k * expert_params() + shared_params() + static_cast<double>(experts) * hidden) +
                        embedding_params();
  const double dims = kv_rank > 0 ? nope_dim + rope_dim + v_dim : 2.0 * head_dim;
  return 6 * active + 3 * layers * seq * heads * dims * attention_share(seq);
}

}  // namespace muster
