// The shape of a transformer: what its layers multiply, and so what a training step has to compute, keep and send.
#pragma once
#include <cstdint>
#include <string>

namespace muster {

struct Transformer {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;  // fewer than heads: grouped-query attention
  std::uint32_t head_dim = 0;
  std::uint32_t ffn = 0;  // of a dense layer; 0: all layers have experts
  bool gated = false;     // SwiGLU: three matrices instead of two
  std::uint32_t vocab = 0;
  bool tied = false;         // the head is the embedding's own matrix
  std::uint32_t window = 0;  // tokens back that a layer with a window sees; 0: there are none
  double windowed = 0;       // share of the layers that have it

  // Experts, in all layers but the first `dense_layers`; none: 0.
  std::uint32_t experts = 0;
  std::uint32_t top_k = 0;
  std::uint32_t expert_ffn = 0;
  std::uint32_t shared_ffn = 0;  // of the expert that every token sees; 0: none
  std::uint32_t dense_layers = 0;

  // Latent attention (MLA); kv_rank 0: none.
  std::uint32_t q_rank = 0;
  std::uint32_t kv_rank = 0;
  std::uint32_t rope_dim = 0;
  std::uint32_t nope_dim = 0;
  std::uint32_t v_dim = 0;

  // Of the causal triangle, in the mean over layers.
  double attention_share(double seq) const;
  std::uint32_t moe_layers() const { return experts > 0 ? layers - dense_layers : 0; }
  double attention_params() const;                                                 // of one layer
  double mlp_params() const;                                                       // of one dense layer
  double expert_params() const;                                                    // of one expert
  double shared_params() const;                                                    // of the shared expert of one layer
  double embedding_params() const { return static_cast<double>(vocab) * hidden; }  // once; the head has as many, or is it
  double params() const;                                                           // all of it, with embedding and head
  // Operations of the model itself for one token of a sequence of `seq`, forward and backward, without recomputation: what MFU
  // counts. Half of the attention matrix is masked and not counted.
  double flops_per_token(double seq) const;
};

}  // namespace muster
