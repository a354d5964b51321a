#include "ingest/model_config.h"

#include <gtest/gtest.h>

#include "ingest/hardware_file.h"

namespace muster {
namespace {

TEST(ModelConfig, WindowsCountWhereLayersHaveThem) {
  const std::string head =
      R"({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000, )";
  const auto share = [&](const std::string& more) { return parse_model_config(head + more + "}", "c")->attention_share(8192); };
  EXPECT_DOUBLE_EQ(share(R"("sliding_window": null)"), 1);
  EXPECT_DOUBLE_EQ(share(R"("sliding_window": 4096, "use_sliding_window": false)"), 1);
  EXPECT_DOUBLE_EQ(share(R"("sliding_window": 4096)"), 0.75);
  EXPECT_DOUBLE_EQ(share(R"("sliding_window": 16384)"), 1);
  EXPECT_DOUBLE_EQ(share(R"("sliding_window": 4096, "sliding_window_pattern": 2)"), 0.875);
  const std::string types = R"("layer_types": ["sliding_attention", "full_attention", "full_attention", "full_attention"])";
  EXPECT_DOUBLE_EQ(share(R"("sliding_window": 4096, )" + types), 0.9375);
}

void expect_same(const Transformer& a, const Transformer& b) {
  EXPECT_NEAR(a.params() / b.params(), 1, 1e-9);
  EXPECT_NEAR(a.flops_per_token(4096) / b.flops_per_token(4096), 1, 1e-9);
  EXPECT_EQ(a.kv_heads, b.kv_heads);
}

TEST(ModelConfig, HuggingFaceDense) {
  const auto m = parse_model_config(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
      "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64, "num_hidden_layers": 80,
      "num_key_value_heads": 8, "vocab_size": 128256, "rope_scaling": {"factor": 8.0}, "torch_dtype": "bfloat16"})",
                                    "config.json");
  ASSERT_TRUE(m) << m.error().what;
  expect_same(*m, *find_transformer("llama3-70b"));
}

TEST(ModelConfig, HuggingFaceExpertsAndLatentAttention) {
  const auto m = parse_model_config(R"({"model_type": "deepseek_v3", "hidden_act": "silu", "hidden_size": 7168,
      "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
      "num_experts_per_tok": 8, "first_k_dense_replace": 3, "num_attention_heads": 128, "num_key_value_heads": 128,
      "num_hidden_layers": 61, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
      "v_head_dim": 128, "vocab_size": 129280})",
                                    "config.json");
  ASSERT_TRUE(m) << m.error().what;
  expect_same(*m, *find_transformer("deepseek-v3"));
}

TEST(ModelConfig, HuggingFaceOfManyKinds) {
  const auto gpt2 = parse_model_config(
      R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_inner": null, "vocab_size": 50257})", "c");
  ASSERT_TRUE(gpt2) << gpt2.error().what;
  EXPECT_EQ(gpt2->ffn, 3072U);
  EXPECT_FALSE(gpt2->gated);
  const auto sees = parse_model_config(
      R"({"model_type": "llava", "vision_config": {"hidden_size": 1}, "text_config": {"model_type": "mixtral",
      "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000}})",
      "c");
  ASSERT_TRUE(sees) << sees.error().what;
  expect_same(*sees, *find_transformer("mixtral-8x7b"));
}

TEST(ModelConfig, MegatronsArguments) {
  const auto m = parse_model_config(
      "#!/bin/bash\n# --num-layers 3 is not it\nARGS=(\n  --num-layers 80 --hidden-size 8192 \\\n  --num-attention-heads=64 "
      "--swiglu\n"
      "  --group-query-attention --num-query-groups 8 --ffn-hidden-size 28672\n  --seq-length 8192 --vocab-size 128256 "
      "--untie-embeddings-and-output-weights)\n",
      "run.sh");
  ASSERT_TRUE(m) << m.error().what;
  expect_same(*m, *find_transformer("llama3-70b"));
}

TEST(ModelConfig, FamiliesLeaveOutWhatTheirCodeKnows) {
  const auto gemma = parse_model_config(
      R"({"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": {"hidden_size": 2560,
      "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024}})",
      "c");
  ASSERT_TRUE(gemma) << gemma.error().what;
  EXPECT_EQ(gemma->heads, 8U);
  EXPECT_EQ(gemma->kv_heads, 4U);
  EXPECT_EQ(gemma->head_dim, 256U);
  EXPECT_TRUE(gemma->gated && gemma->tied);
  EXPECT_NEAR(gemma->params() / 3.88e9, 1, 0.01) << "4B is 3.88 billion without its eyes";
  EXPECT_NEAR(gemma->windowed, 5.0 / 6, 1e-9);
  const auto falcon = parse_model_config(
      R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "multi_query": true,
      "new_decoder_architecture": false, "num_kv_heads": 71, "vocab_size": 65024})",
      "c");
  ASSERT_TRUE(falcon) << falcon.error().what;
  EXPECT_EQ(falcon->kv_heads, 1U);
  EXPECT_NEAR(falcon->params() / 6.92e9, 1, 0.01);
  const auto loose = parse_model_config(
      R"({"model_type": "gemma2", "hidden_size": 64, "num_hidden_layers": 2, "tie_word_embeddings": false, "vocab_size": 1000})",
      "c");
  EXPECT_FALSE(loose->tied) << "what the file says wins";
}

TEST(ModelConfig, AScriptsOwnVariables) {
  const auto m = parse_model_config(
      "#!/bin/bash\nexport LAYERS=80\nHIDDEN=${HIDDEN:-8192}\nGPT_ARGS=\"--num-layers $LAYERS\t--hidden-size ${HIDDEN} \\\n"
      "  --num-attention-heads ${HEADS:-64} # as ever\n  --swiglu --untie-embeddings-and-output-weights\"\n",
      "run.sh");
  ASSERT_TRUE(m) << m.error().what;
  EXPECT_EQ(m->layers, 80U);
  EXPECT_EQ(m->hidden, 8192U);
  EXPECT_EQ(m->heads, 64U);
  EXPECT_TRUE(m->gated);
  EXPECT_EQ(parse_model_config("--num-layers $N --hidden-size 64 --num-attention-heads 4", "f").error().what,
            "f: num-layers must be a whole number");
}

TEST(ModelConfig, WhatIsNotPlannedIsSaid) {
  const auto what = [](const std::string& more) {
    const auto m = parse_model_config(
        R"({"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4, "vocab_size": 100, )" + more + "}", "c");
    return m ? std::string() : m.error().what;
  };
  EXPECT_EQ(what(R"("num_experts": 8, "num_experts_per_tok": 16, "moe_intermediate_size": 64)"),
            "c: a token cannot go to 16 of 8 experts");
  EXPECT_EQ(what(R"("interleave_moe_layer_step": 2)"),
            "c: interleave_moe_layer_step: layers with and without experts in turn are not planned yet");
  EXPECT_NE(what(R"("model_type": "bert")").find("models of type bert are not planned"), std::string::npos);
  EXPECT_EQ(what(R"("model_type": "llama")"), "");
  const auto pattern = parse_model_config(
      "--num-layers 61 --hidden-size 64 --num-attention-heads 4 --num-experts 8 --ffn-hidden-size 100 --moe-layer-freq "
      "([0]*3+[1]*58)",
      "a");
  ASSERT_TRUE(pattern) << pattern.error().what;
  EXPECT_EQ(pattern->dense_layers, 3U);
  EXPECT_EQ(pattern->ffn, 100U);
  EXPECT_FALSE(
      parse_model_config("--num-layers 4 --hidden-size 64 --num-attention-heads 4 --num-experts 8 --moe-layer-freq 2", "a"));
}

TEST(ModelConfig, WhatIsMissingOrCannotBeIsSaid) {
  const auto what = [](const char* text) {
    const auto m = parse_model_config(text, "f");
    return m ? std::string() : m.error().what;
  };
  EXPECT_EQ(what("{\"hidden_size\": 64}"), "f: num_hidden_layers is missing");
  EXPECT_EQ(what("--num-layers 2 --hidden-size 64"), "f: num-attention-heads is missing");
  EXPECT_EQ(what("--num-layers two --hidden-size 64 --num-attention-heads 4"), "f: num-layers must be a whole number");
  EXPECT_EQ(what("--num-layers 2 --hidden-size 64 --num-attention-heads 0"), "f: a model without layers, heads or width");
  EXPECT_EQ(what("--num-layers 2 --hidden-size 96 --num-attention-heads 6 --group-query-attention --num-query-groups 4"),
            "f: 6 heads cannot share 4 heads of keys and values evenly");
  EXPECT_EQ(what("{\"a\": }").substr(0, 7), "f: byte");
  EXPECT_EQ(what("hello"), "f: num-layers is missing");
}

}  // namespace
}  // namespace muster
