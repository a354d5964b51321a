#include "ingest/model_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/text.h"
#include "ingest/arguments.h"
#include "ingest/json.h"

namespace muster {
namespace {

// Where a number is found by one of several names; the first thing wrong is kept.
class Source {
 public:
  explicit Source(std::string_view where) : where_(where) {}
  virtual ~Source() = default;

  std::uint32_t whole(std::initializer_list<std::string_view> names, std::optional<std::uint32_t> otherwise = {}) {
    for (const std::string_view name : names) {
      const auto n = find(name);
      if (!n) continue;
      if (*n >= 0 && *n <= 1e9 && *n == std::floor(*n)) return static_cast<std::uint32_t>(*n);
      fail_with(fmt::format("{} must be a whole number", name));
      return 0;
    }
    if (!otherwise) fail_with(fmt::format("{} is missing", *names.begin()));
    return otherwise.value_or(0);
  }
  void fail_with(std::string why) {
    if (wrong.empty()) wrong = fmt::format("{}: {}", where_, why);
  }

  std::string wrong;

 protected:
  // None: it is not there. What is there and no number is not finite.
  virtual std::optional<double> find(std::string_view name) const = 0;

 private:
  std::string_view where_;
};

class JsonSource : public Source {
 public:
  JsonSource(const Value& value, std::string_view where) : Source(where), value_(value) {}

  const Value* member(std::string_view name) const { return value_.find(name); }
  std::string text(std::string_view name) const {
    const Value* v = value_.find(name);
    return v != nullptr && v->string() != nullptr ? *v->string() : std::string();
  }
  std::optional<bool> yes(std::string_view name) const {
    const Value* v = value_.find(name);
    return v != nullptr && v->boolean() != nullptr ? std::optional(*v->boolean()) : std::nullopt;
  }

 protected:
  std::optional<double> find(std::string_view name) const override {
    const Value* v = value_.find(name);
    if (v == nullptr || v->is_null()) return {};
    double n = NAN;
    v->number(n);
    return n;
  }

 private:
  const Value& value_;
};

class ArgumentSource : public Source {
 public:
  ArgumentSource(std::string_view text, std::string_view where) : Source(where), arguments_(text) {}

  bool has(std::string_view name) const { return arguments_.has(name); }
  std::string text(std::string_view name) const { return arguments_.text(name); }

 protected:
  std::optional<double> find(std::string_view name) const override { return arguments_.number(name); }

 private:
  Arguments arguments_;
};

// What a family's code takes where its configuration leaves it out.
struct Family {
  std::string_view prefix;  // of model_type
  std::uint32_t heads, kv_heads, head_dim, vocab, window_each;
  bool tied;
};
constexpr Family kFamilies[] = {{"gemma3", 8, 4, 256, 262'208, 6, true},    {"gemma2", 8, 4, 256, 256'000, 2, true},
                                {"gemma", 16, 16, 256, 256'000, 0, true},   {"gpt2", 12, 0, 0, 50'257, 0, true},
                                {"gpt_bigcode", 12, 0, 0, 50'257, 0, true}, {"falcon", 71, 0, 0, 65'024, 0, true},
                                {"RefinedWeb", 71, 0, 0, 65'024, 0, true},  {"opt", 12, 0, 0, 50'272, 0, true},
                                {"bloom", 8, 0, 0, 250'880, 0, true}};

const Family& family_of(std::string_view type) {
  static constexpr Family kNone{"", 0, 0, 0, 0, 0, false};
  for (const Family& f : kFamilies) {
    if (type.starts_with(lower(f.prefix))) return f;
  }
  return kNone;
}
std::optional<std::uint32_t> given(std::uint32_t n) { return n > 0 ? std::optional(n) : std::nullopt; }

void read_heads(Source& s, Transformer& m, std::initializer_list<std::string_view> kv,
                std::initializer_list<std::string_view> dim, std::uint32_t usual_kv = 0, std::uint32_t usual_dim = 0) {
  m.kv_heads = s.whole(kv, usual_kv > 0 ? usual_kv : m.heads);
  if (m.heads == 0 || m.hidden == 0 || m.layers == 0) return s.fail_with("a model without layers, heads or width");
  m.head_dim = s.whole(dim, m.kv_rank > 0 ? m.v_dim : usual_dim > 0 ? usual_dim : m.hidden / m.heads);
  if (m.kv_rank == 0 && usual_dim == 0 && m.head_dim == m.hidden / m.heads && m.hidden % m.heads != 0)
    return s.fail_with(fmt::format("a width of {} does not split among {} heads", m.hidden, m.heads));
  if (m.kv_heads == 0 || m.head_dim == 0) return s.fail_with("heads of no size");
  if (m.heads % m.kv_heads != 0)
    s.fail_with(fmt::format("{} heads cannot share {} heads of keys and values evenly", m.heads, m.kv_heads));
}

// Layers that see a window only: named one by one, in turn by the family's pattern, or all of them.
void read_window(JsonSource& s, Transformer& m) {
  m.window = s.whole({"sliding_window"}, 0);
  if (s.yes("use_sliding_window") == false) m.window = 0;
  if (m.window == 0 || m.layers == 0) return;
  m.windowed = 1;
  const Value* types = s.member("layer_types");
  if (types != nullptr && types->array() != nullptr) {
    double with = 0;
    for (const Value& t : *types->array()) with += t.string() != nullptr && *t.string() == "sliding_attention" ? 1 : 0;
    m.windowed = std::min(1.0, with / m.layers);
  } else if (const std::uint32_t each = s.whole({"sliding_window_pattern"}, family_of(m.name).window_each); each > 0) {
    m.windowed = 1 - 1.0 / each;  // every so many-th sees all
  }
}

Transformer from_hugging_face(JsonSource& s) {
  Transformer m;
  m.name = lower(s.text("model_type").empty() ? "model" : s.text("model_type"));
  m.layers = s.whole({"num_hidden_layers", "n_layer", "num_layers"});
  m.hidden = s.whole({"hidden_size", "n_embd", "n_embed", "d_model"});
  const Family& family = family_of(m.name);
  m.heads = s.whole({"num_attention_heads", "n_head", "num_heads"}, given(family.heads));
  m.vocab = s.whole({"vocab_size", "padded_vocab_size"}, given(family.vocab));
  m.ffn = s.whole({"intermediate_size", "n_inner", "ffn_hidden_size"}, 4 * m.hidden);
  m.tied = s.yes("tie_word_embeddings").value_or(family.tied);
  const std::string act = s.text("hidden_act").empty() ? s.text("hidden_activation") : s.text("hidden_act");
  m.gated = act == "silu" || act == "swiglu" || m.name.starts_with("gemma");
  m.experts = s.whole({"n_routed_experts", "num_local_experts", "num_experts"}, 0);
  if (m.experts > 0) {
    m.top_k = s.whole({"num_experts_per_tok", "experts_per_token", "moe_topk"});
    m.expert_ffn = s.whole({"moe_intermediate_size", "intermediate_size"});
    m.dense_layers = s.whole({"first_k_dense_replace"}, 0);
    m.shared_ffn = s.whole({"shared_expert_intermediate_size"}, s.whole({"n_shared_experts"}, 0) * m.expert_ffn);
    if (m.dense_layers == 0) m.ffn = 0;
    m.gated = true;
  }
  m.kv_rank = s.whole({"kv_lora_rank"}, 0);
  if (m.kv_rank > 0) {
    m.q_rank = s.whole({"q_lora_rank"}, 0);
    m.rope_dim = s.whole({"qk_rope_head_dim"});
    m.nope_dim = s.whole({"qk_nope_head_dim"});
    m.v_dim = s.whole({"v_head_dim"});
  }
  // One head of keys and values for all, where a family says so by a flag; newer code of it counts them.
  const bool one = s.yes("multi_query").value_or(false) && !s.yes("new_decoder_architecture").value_or(false);
  read_heads(s, m, {"num_key_value_heads", "num_kv_heads"}, {"head_dim"}, one ? 1 : family.kv_heads, family.head_dim);
  if (one) m.kv_heads = 1;
  read_window(s, m);
  if (m.experts > 0 && (m.top_k == 0 || m.top_k > m.experts))
    s.fail_with(fmt::format("a token cannot go to {} of {} experts", m.top_k, m.experts));
  for (const std::string_view name : {"interleave_moe_layer_step", "decoder_sparse_step"}) {
    if (s.whole({name}, 1) > 1) s.fail_with(fmt::format("{}: layers with and without experts in turn are not planned yet", name));
  }
  for (const char* kind : {"bert", "t5", "qwen3_next", "mamba", "jamba", "rwkv"}) {
    if (m.name.find(kind) != std::string::npos) {
      s.fail_with(
          fmt::format("models of type {} are not planned: only decoders with attention in every layer are", printable(m.name)));
    }
  }
  return m;
}

// "([0]*3+[1]*58)": so many dense layers first. Other patterns have layers of two kinds in turn.
void read_pattern(ArgumentSource& s, Transformer& m) {
  const std::string pattern = s.text("moe-layer-freq");
  if (pattern.empty() || pattern == "1") return;
  std::string plain;
  for (const char c : pattern) {
    if (c != '(' && c != ')' && c != '[' && c != ']' && c != '\'' && c != '"') plain += c;
  }
  const auto parts = split(plain, '+');
  const auto times = [](std::string_view part, std::string_view of) {
    return part.starts_with(of) && part.size() > 2 && part[1] == '*' ? parse_uint(part.substr(2)) : std::nullopt;
  };
  const auto dense = parts.size() == 2 ? times(parts[0], "0") : std::nullopt;
  const auto rest = parts.size() == 2 ? times(parts[1], "1") : std::nullopt;
  if (!dense || !rest || *dense > m.layers || *dense + *rest != m.layers) {
    return s.fail_with(
        fmt::format("--moe-layer-freq {}: only dense layers first and then those with experts are planned", printable(pattern)));
  }
  m.dense_layers = static_cast<std::uint32_t>(*dense);
}

Transformer from_megatron(ArgumentSource& s) {
  Transformer m;
  m.name = "model";
  m.layers = s.whole({"num-layers"});
  m.hidden = s.whole({"hidden-size"});
  m.heads = s.whole({"num-attention-heads"});
  m.vocab = s.whole({"padded-vocab-size", "vocab-size"}, 128'256);  // the tokenizer has it
  m.gated = s.has("swiglu");
  m.tied = !s.has("untie-embeddings-and-output-weights");
  // "1023,0": so many tokens back, and none ahead.
  if (const std::string window = s.text("window-size"); !window.empty()) {
    const auto back = parse_uint(trim(std::string_view(window).substr(0, window.find(','))));
    if (!back || *back > 1'000'000'000)
      s.fail_with(fmt::format("--window-size {}: so many tokens back, a comma, and 0", printable(window)));
    m.window = static_cast<std::uint32_t>(back.value_or(0)) + 1;
    const std::uint32_t each = s.whole({"window-attn-skip-freq"}, 0);
    m.windowed = each > 0 ? 1 - 1.0 / each : 1;
  }
  m.ffn = s.whole({"ffn-hidden-size"}, 4 * m.hidden);
  m.experts = s.whole({"num-experts"}, 0);
  if (m.experts > 0) {
    m.top_k = s.whole({"moe-router-topk"}, 2);
    m.expert_ffn = s.whole({"moe-ffn-hidden-size"}, m.ffn);
    m.shared_ffn = s.whole({"moe-shared-expert-intermediate-size"}, 0);
    read_pattern(s, m);
    if (m.dense_layers == 0) m.ffn = 0;
  }
  if (s.has("multi-latent-attention")) {
    m.kv_rank = s.whole({"kv-lora-rank"}, 32);
    m.q_rank = s.whole({"q-lora-rank"}, 0);
    m.nope_dim = s.whole({"qk-head-dim"}, 128);
    m.rope_dim = s.whole({"qk-pos-emb-head-dim"}, 64);
    m.v_dim = s.whole({"v-head-dim"}, 128);
  }
  if (s.has("group-query-attention"))
    read_heads(s, m, {"num-query-groups"}, {"kv-channels"});
  else
    read_heads(s, m, {}, {"kv-channels"});
  return m;
}

}  // namespace

Result<Transformer> parse_model_config(std::string_view text, std::string_view where) {
  constexpr std::size_t kMost = 4 << 20;
  if (text.size() > kMost) return fail(Code::bad_input, fmt::format("{}: no configuration is that large", where));
  const auto done = [](Source& s, Transformer m) -> Result<Transformer> {
    if (!s.wrong.empty()) {
      return fail(
          Code::bad_input, s.wrong,
          "a Hugging Face config.json, or Megatron-LM's arguments with --num-layers, --hidden-size and --num-attention-heads");
    }
    return m;
  };
  if (trim(text).starts_with('{')) {
    const auto value = parse_json(text);
    if (!value) return fail(Code::bad_input, fmt::format("{}: {}", where, value.error().what));
    const Value* inner = value->find("text_config");
    JsonSource s(inner != nullptr && inner->object() != nullptr ? *inner : *value, where);
    Transformer m = from_hugging_face(s);
    return done(s, std::move(m));
  }
  ArgumentSource s(text, where);
  Transformer m = from_megatron(s);
  return done(s, std::move(m));
}

}  // namespace muster
