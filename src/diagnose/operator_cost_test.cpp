#include "diagnose/operator_cost.h"

#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

using Kind = OperatorCost::Kind;

struct Call {
  std::string_view op;
  std::vector<Shape> shapes;
  std::vector<std::string_view> types = {}, values = {};
};

std::optional<OperatorCost> cost(const Call& c) { return operator_cost(c.op, c.shapes, c.types, c.values); }

void expect(const Call& c, double flops, double bytes, Kind kind) {
  const auto got = cost(c);
  ASSERT_TRUE(got) << c.op;
  EXPECT_EQ(got->flops, flops) << c.op;
  EXPECT_EQ(got->bytes, bytes) << c.op;
  EXPECT_EQ(got->kind, kind) << c.op;
}

constexpr std::string_view kHalf = "c10::BFloat16", kFloat = "float", kIndex = "long int";

TEST(OperatorCost, SizesOfTypes) {
  for (const auto& [type, bytes] : std::vector<std::pair<std::string_view, double>>{{"float", 4},
                                                                                    {"c10::BFloat16", 2},
                                                                                    {"c10::Half", 2},
                                                                                    {"double", 8},
                                                                                    {"long int", 8},
                                                                                    {"long", 8},
                                                                                    {"int", 4},
                                                                                    {"signed char", 1},
                                                                                    {"unsigned char", 1},
                                                                                    {"bool", 1},
                                                                                    {"c10::Float8_e4m3fn", 1},
                                                                                    {"c10::Float8_e5m2", 1},
                                                                                    {"c10::complex<float>", 8},
                                                                                    {"Tensor(float)", 4},
                                                                                    {"Tensor(c10::BFloat16)", 2},
                                                                                    {"Tensor(long int)", 8},
                                                                                    {"GenericList[Tensor(c10::Half)]", 2},
                                                                                    {"Tensor(nullptr (uninitialized))", 0},
                                                                                    {"Int", 0},
                                                                                    {"Double", 0},
                                                                                    {"Bool", 0},
                                                                                    {"Scalar", 0},
                                                                                    {"ScalarList", 0},
                                                                                    {"TensorList", 0},
                                                                                    {"float,int", 0},
                                                                                    {"", 0}}) {
    EXPECT_EQ(element_bytes(type), bytes) << type;
  }
}

TEST(OperatorCost, Products) {
  expect({"aten::mm", {{98304, 50}, {50, 15}}, {kFloat, kFloat}}, 2.0 * 98304 * 50 * 15,
         4.0 * (98304 * 50 + 50 * 15 + 98304 * 15), Kind::product);
  expect({"aten::addmm", {{1000}, {32, 2048}, {2048, 1000}, {}, {}}, {kHalf, kHalf, kHalf, "Scalar", "Scalar"}},
         2.0 * 32 * 2048 * 1000, 2.0 * (1000 + 32 * 2048 + 2048 * 1000 + 32 * 1000), Kind::product);
  expect({"aten::bmm", {{8, 96, 647}, {8, 647, 30}}, {kFloat, kFloat}}, 2.0 * 8 * 96 * 647 * 30,
         4.0 * 8 * (96 * 647 + 647 * 30 + 96 * 30), Kind::product);
  expect({"aten::baddbmm", {{8, 4, 5}, {8, 4, 6}, {8, 6, 5}}, {kFloat, kFloat, kFloat}}, 2.0 * 8 * 4 * 6 * 5,
         4.0 * 8 * (4 * 5 * 2 + 4 * 6 + 6 * 5), Kind::product);
  expect({"aten::linear", {{4, 512, 1024}, {4096, 1024}, {4096}}, {kHalf, kHalf, kHalf}}, 2.0 * 4 * 512 * 1024 * 4096,
         2.0 * (4 * 512 * 1024 + 4096 * 1024 + 4096 + 4 * 512 * 4096), Kind::product);
  expect({"aiter::gemm_a16w16", {{15360, 12288}, {4096, 12288}}, {kHalf, kHalf}}, 2.0 * 15360 * 12288 * 4096,
         2.0 * (15360.0 * 12288 + 4096.0 * 12288 + 15360.0 * 4096), Kind::product);
  expect({"aten::mv", {{7, 3}, {3}}, {kFloat, kFloat}}, 2.0 * 7 * 3, 4.0 * (21 + 3 + 7), Kind::product);
  expect({"aten::dot", {{9}, {9}}, {kFloat, kFloat}}, 18, 4.0 * 19, Kind::product);
}

TEST(OperatorCost, ProductsOfBatchesBroadcast) {
  // Eight heads of two batches with one matrix for all.
  expect({"aten::matmul", {{2, 8, 16, 64}, {64, 32}}, {kFloat, kFloat}}, 2.0 * 2 * 8 * 16 * 64 * 32,
         4.0 * (2 * 8 * 16 * 64 + 64 * 32 + 2 * 8 * 16 * 32), Kind::product);
  expect({"aten::matmul", {{2, 1, 16, 64}, {8, 64, 32}}, {kFloat, kFloat}}, 2.0 * 2 * 8 * 16 * 64 * 32,
         4.0 * (2 * 16 * 64 + 8 * 64 * 32 + 2 * 8 * 16 * 32), Kind::product);
  EXPECT_FALSE(cost({"aten::matmul", {{2, 3, 4, 5}, {7, 5, 6}}, {kFloat, kFloat}})) << "3 and 7 do not go together";
  EXPECT_FALSE(cost({"aten::mm", {{4, 5}, {6, 7}}, {kFloat, kFloat}})) << "5 columns by 6 rows";
  EXPECT_FALSE(cost({"aten::mm", {{4, 5}, {}}, {kFloat, ""}}));
  EXPECT_FALSE(cost({"aten::mm", {}, {}}));
}

TEST(OperatorCost, ScaledAndGroupedProducts) {
  constexpr std::string_view k8 = "c10::Float8_e4m3fn";
  const std::vector<std::string_view> types = {k8, k8, kFloat, kFloat};
  expect({"aten::_scaled_mm", {{4096, 8192}, {8192, 1024}, {}, {}}, types}, 2.0 * 4096 * 8192 * 1024,
         4096.0 * 8192 + 8192.0 * 1024 + 2.0 * 4096 * 1024, Kind::product);
  // Told to give floats (6).
  expect({"aten::_scaled_mm", {{16, 32}, {32, 8}, {}, {}, {}, {}, {}}, types, {"", "", "", "", "", "", "6"}}, 2.0 * 16 * 32 * 8,
         16.0 * 32 + 32.0 * 8 + 4.0 * 16 * 8, Kind::product);
  const std::vector<std::string_view> half = {kHalf, kHalf, "int"};
  expect({"aten::_grouped_mm", {{1024, 256}, {8, 256, 512}, {8}}, half}, 2.0 * 1024 * 256 * 512,
         2.0 * (1024 * 256 + 8 * 256 * 512 + 1024 * 512), Kind::product);
  expect({"aten::_grouped_mm", {{256, 1024}, {1024, 512}, {8}}, half}, 2.0 * 1024 * 256 * 512,
         2.0 * (1024 * 256 + 1024 * 512 + 256 * 512), Kind::product);
}

TEST(OperatorCost, Convolutions) {
  // The first of ResNet-50: 3 to 64 channels, 7 by 7, stride 2, padding 3.
  const double flops = 2.0 * 32 * 64 * 112 * 112 * 3 * 49;
  const double bytes = 4.0 * (32.0 * 3 * 224 * 224 + 64 * 3 * 49 + 32.0 * 64 * 112 * 112);
  const std::vector<Shape> shapes = {{32, 3, 224, 224}, {64, 3, 7, 7}, {}, {}, {}, {}, {}, {}, {}};
  expect({"aten::conv2d", shapes, {kFloat, kFloat}, {"", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "1"}}, flops, bytes,
         Kind::convolution);
  expect({"aten::convolution", shapes, {kFloat, kFloat}, {"", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False"}}, flops, bytes,
         Kind::convolution);
  expect({"aten::cudnn_convolution", shapes, {kFloat, kFloat}, {"", "", "[3, 3]", "[2, 2]", "[1, 1]", "1"}}, flops, bytes,
         Kind::convolution);
  EXPECT_FALSE(cost({"aten::conv2d", shapes, {kFloat, kFloat}})) << "without its stride nothing is said";
  EXPECT_FALSE(cost({"aten::conv2d", shapes, {kFloat, kFloat}, {"", "", "", "[0]", "[3, 3]"}}));
  // Each channel by itself.
  const std::vector<Shape> apart = {{1, 8, 10, 10}, {8, 1, 3, 3}, {}, {}, {}, {}, {}};
  expect({"aten::conv2d", apart, {kFloat, kFloat}, {"", "", "", "[1]", "[0]", "[1]", "8"}}, 2.0 * 8 * 64 * 9,
         4.0 * (800 + 72 + 512), Kind::convolution);
  expect({"aten::conv2d", apart, {kFloat, kFloat}, {"", "", "", "[1]", "same", "[1]", "8"}}, 2.0 * 8 * 100 * 9,
         4.0 * (800 + 72 + 800), Kind::convolution);
}

TEST(OperatorCost, ConvolutionsBackward) {
  const double one = 2.0 * 32 * 2048 * 7 * 7 * 1024;
  const double moved = 4.0 * (32.0 * 2048 * 49 + 32.0 * 1024 * 196 + 2048.0 * 1024);
  const Shape out = {32, 2048, 7, 7}, in = {32, 1024, 14, 14}, weight = {2048, 1024, 1, 1};
  const std::vector<std::string_view> types = {kFloat, kFloat, kFloat};
  expect({"aten::convolution_backward", {out, in, weight}, types}, 2 * one, 2 * moved, Kind::convolution);
  const std::vector<std::string_view> only_weight = {"", "", "", "", "", "", "", "False", "", "1", "[False, True, False]"};
  std::vector<Shape> eleven = {out, in, weight};
  eleven.resize(11);
  expect({"aten::convolution_backward", eleven, types, only_weight}, one, moved, Kind::convolution);
  expect({"aten::cudnn_convolution_backward", {in, out, weight}, types}, 2 * one, 2 * moved, Kind::convolution);
  const auto by_input = cost({"aten::cudnn_convolution_backward_input", {{}, out, weight}, {"GenericList", kFloat, kFloat}});
  ASSERT_TRUE(by_input);
  EXPECT_EQ(by_input->flops, one);
  EXPECT_FALSE(cost({"aten::cudnn_convolution_backward_weight", {{}, out, in}, {"GenericList", kFloat, kFloat}}));
  const auto by_weight =
      cost({"aten::cudnn_convolution_backward_weight", {{}, out, in}, {"GenericList", kFloat, kFloat}, {"[2048, 1024, 1, 1]"}});
  ASSERT_TRUE(by_weight);
  EXPECT_EQ(by_weight->flops, one);
}

TEST(OperatorCost, Attention) {
  const Shape q = {2, 32, 1024, 128}, k = {2, 8, 2048, 128};
  const double all = 2.0 * 2 * 32 * 1024 * 2048 * 256;
  const double queries = 2.0 * 32 * 1024 * 128, keys = 2.0 * 8 * 2048 * 128;
  const std::vector<std::string_view> types = {kHalf, kHalf, kHalf};
  expect({"aten::_scaled_dot_product_flash_attention", {q, k, k}, types}, all, 2 * (2 * queries + 2 * keys), Kind::attention);
  const std::vector<std::string_view> backward = {kHalf, kHalf, kHalf, kHalf, kHalf};
  expect({"aten::_scaled_dot_product_flash_attention_backward", {q, q, k, k, q}, backward}, all * 2.5,
         2 * (2 * (queries + 2 * keys) + 2 * queries), Kind::attention);
  const Shape flat = {2, 1024, 32, 128};
  expect({"aten::_flash_attention_forward", {flat, flat, flat}, types}, 2.0 * 2 * 32 * 1024 * 1024 * 256, 2 * 4 * queries,
         Kind::attention);
  EXPECT_FALSE(cost({"aten::_flash_attention_forward", {flat, flat, flat, {9}}, {kHalf, kHalf, kHalf, "int"}}))
      << "sequences packed one behind the other: how long each is, shapes do not tell";
  EXPECT_FALSE(cost({"aten::_scaled_dot_product_flash_attention", {{4, 8}, {4, 8}, {4, 8}}, types}));
}

TEST(OperatorCost, CausalAttentionNeedsHalf) {
  const Shape q = {1, 1, 4, 8};
  const std::vector<Shape> shapes = {q, q, q, {}, {}, {}, {}};
  const std::vector<std::string_view> types = {kHalf, kHalf, kHalf};
  // Ten of the sixteen pairs.
  EXPECT_EQ(cost({"aten::scaled_dot_product_attention", shapes, types, {"", "", "", "", "0.", "True"}})->flops, 2.0 * 10 * 16);
  EXPECT_EQ(cost({"aten::scaled_dot_product_attention", shapes, types, {"", "", "", "", "0.", "False"}})->flops, 2.0 * 16 * 16);
  EXPECT_EQ(cost({"aten::_scaled_dot_product_flash_attention", shapes, types, {"", "", "", "0.", "True"}})->flops, 2.0 * 10 * 16);
  EXPECT_EQ(cost({"aten::_scaled_dot_product_cudnn_attention", shapes, types, {"", "", "", "", "", "", "True"}})->flops,
            2.0 * 10 * 16);
}

TEST(OperatorCost, Pointwise) {
  expect({"aten::relu_", {{8, 4}}, {kFloat}}, 32, 4.0 * 64, Kind::stream);
  expect({"aten::add", {{8, 4}, {4}, {}}, {kHalf, kHalf, "Scalar"}}, 32, 2.0 * (32 + 4 + 32), Kind::stream);
  expect({"aten::add_.Tensor", {{8, 4}, {8, 4}, {}}, {kFloat, kFloat, "Int"}}, 32, 4.0 * 96, Kind::stream);
  expect({"aten::mul", {{8, 1}, {1, 4}}, {kHalf, kFloat}}, 32, 2.0 * 8 + 4.0 * 4 + 4.0 * 32, Kind::stream);
  expect({"aten::mul", {{8, 4}, {}}, {kHalf, "double"}}, 32, 2.0 * 64 + 8, Kind::stream);
  expect({"aten::clamp_min", {{8, 4}, {}, {8, 4}}, {kFloat, "Int", kFloat}}, 32, 4.0 * 64, Kind::stream);
  expect({"aten::eq", {{8}, {8}}, {kIndex, kIndex}}, 8, 8.0 * 16 + 8, Kind::stream);
  expect({"aten::where", {{8}, {8}, {}}, {"bool", kFloat, kFloat}}, 16, 8 + 4.0 * 8 + 4 + 4.0 * 8, Kind::stream);
  expect({"aten::addcmul_", {{8}, {8}, {8}, {}}, {kFloat, kFloat, kFloat, "Scalar"}}, 16, 4.0 * 32, Kind::stream);
  expect({"aten::threshold_backward", {{8}, {8}, {}}, {kFloat, kFloat, "Scalar"}}, 8, 4.0 * 24, Kind::stream);
  EXPECT_FALSE(cost({"aten::add", {{8, 4}, {5}}, {kFloat, kFloat}})) << "4 and 5 do not go together";
}

TEST(OperatorCost, NormsAndSoftmax) {
  EXPECT_EQ(cost({"aten::native_layer_norm", {{4, 1024}, {}, {1024}, {1024}}, {kHalf, "", kHalf, kHalf}})->bytes, 2.0 * 8192);
  EXPECT_EQ(cost({"aten::native_layer_norm_backward", {{4, 1024}, {4, 1024}}, {kHalf, kHalf}})->bytes, 2.0 * 3 * 4096);
  EXPECT_EQ(cost({"aten::cudnn_batch_norm", {{2, 3, 4, 4}, {3}}, {kFloat, kFloat}})->bytes, 4.0 * 2 * 96);
  EXPECT_EQ(cost({"aten::cudnn_batch_norm_backward", {{2, 3, 4, 4}, {2, 3, 4, 4}, {3}}, {kFloat, kFloat}})->bytes, 4.0 * 3 * 96);
  EXPECT_EQ(cost({"aten::_softmax", {{4, 16}, {}, {}}, {kFloat, "Scalar", "Scalar"}})->bytes, 4.0 * 128);
  EXPECT_EQ(cost({"aten::_log_softmax_backward_data", {{4, 16}, {4, 16}}, {kFloat, kFloat}})->bytes, 4.0 * 192);
  EXPECT_EQ(cost({"aten::_fused_rms_norm", {{4, 16}, {}, {16}}, {kHalf, "", kHalf}})->bytes, 2.0 * 128);
}

TEST(OperatorCost, ReductionsAndFills) {
  expect({"aten::sum", {{8, 4}, {}}, {kFloat, "ScalarList"}}, 32, 128, Kind::stream);
  expect({"aten::zero_", {{8, 4}}, {kFloat}}, 0, 128, Kind::stream);
  expect({"aten::fill_", {{8}, {}}, {kHalf, "Scalar"}}, 0, 16, Kind::stream);
}

TEST(OperatorCost, CopiesAndCasts) {
  expect({"aten::copy_", {{8, 4}, {8, 4}, {}}, {kHalf, kFloat, "Bool"}}, 0, 32 * 6.0, Kind::stream);
  expect({"aten::clone", {{8, 4}, {}}, {kHalf, "Scalar"}}, 0, 128, Kind::stream);
  expect({"aten::_to_copy", {{8, 4}, {}}, {kFloat, "Scalar"}, {"", "15"}}, 0, 32 * 6.0, Kind::stream);
  expect({"aten::contiguous", {{8, 4}, {}}, {kHalf, "Scalar"}}, 0, 128, Kind::stream);
  expect({"aten::view", {{8, 4}, {}}, {kHalf, "ScalarList"}}, 0, 0, Kind::other);
  EXPECT_TRUE(may_do_nothing("aten::to"));
  EXPECT_TRUE(may_do_nothing("aten::contiguous"));
  EXPECT_FALSE(may_do_nothing("aten::copy_"));
}

TEST(OperatorCost, Lookups) {
  expect({"aten::embedding", {{50257, 768}, {4, 128}, {}}, {kFloat, kIndex}}, 0, 2.0 * 512 * 768 * 4 + 512 * 8, Kind::stream);
  expect({"aten::gather", {{1000, 16}, {}, {20, 16}}, {kHalf, "Scalar", kIndex}}, 0, 320 * 8.0 + 2 * 320 * 2.0, Kind::stream);
  expect({"aten::index_select", {{755000, 4}, {}, {1024}}, {kFloat, "Scalar", "int"}, {"", "0"}}, 0,
         1024 * 4.0 + 2 * 1024 * 4 * 4.0, Kind::stream);
  expect({"aten::scatter_add_", {{200}, {}, {46572}, {46572}}, {kFloat, "Scalar", kIndex, kFloat}}, 46572, 46572 * (8 + 12.0),
         Kind::stream);
  EXPECT_FALSE(cost({"aten::index", {{755000}, {}}, {"double", ""}})) << "the indices are a list that is not told";
  EXPECT_FALSE(cost({"aten::index_select", {{7, 4}, {}, {3}}, {kFloat, "Scalar", "int"}, {"", "5"}}));
  const auto back = cost({"aten::embedding_dense_backward", {{4, 128, 768}, {4, 128}, {}}, {kFloat, kIndex}, {"", "", "50257"}});
  EXPECT_EQ(back->bytes, 512 * 768 * 4.0 + 512 * 8 + 50257.0 * 768 * 4);
}

TEST(OperatorCost, LossesDropoutAndPools) {
  expect({"aten::nll_loss_forward", {{32, 1000}, {32}}, {kFloat, kIndex}}, 32, 32 * 8 + 32 * 4, Kind::stream);
  expect({"aten::nll_loss_backward", {{}, {32, 1000}, {32}}, {kFloat, kFloat, kIndex}}, 0, 32000 * 4 + 32 * 8, Kind::stream);
  expect({"aten::native_dropout", {{8, 4}, {}, {}}, {kHalf, "Scalar", "Scalar"}}, 32, 32 * 5, Kind::stream);
  expect({"aten::dropout", {{8, 4}, {}, {}}, {kHalf, "Scalar", "Scalar"}, {"", "0.1", "False"}}, 0, 0, Kind::other);
  expect({"aten::max_pool2d_with_indices", {{1, 1, 8, 8}, {}, {}}, {kFloat}, {"", "[3, 3]", "[2, 2]"}}, 64, 256 + 16 * 12,
         Kind::stream);
}

TEST(OperatorCost, ListsOfTensors) {
  const std::vector<Shape> weights = {{1024, 1024}, {1024}};
  const double n = 1024 * 1024 + 1024;
  const Operand list{weights, "Tensor(float)", {}}, untold{weights, "TensorList", {}}, none{{}, "Scalar", {}};
  const std::vector<Operand> adam = {list, list, list, list, none, list, none};
  const auto a = operator_cost("aten::_fused_adamw_", adam);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->bytes, n * 4 * 7) << "three are read and written, and the gradient is read";
  EXPECT_FALSE(a->guessed);
  const auto add = operator_cost("aten::_foreach_add_", std::vector<Operand>{list, list, none});
  EXPECT_EQ(add->bytes, n * 12);
  EXPECT_EQ(operator_cost("aten::_foreach_mul_", std::vector<Operand>{list, none})->bytes, n * 8);
  EXPECT_EQ(operator_cost("aten::_foreach_norm", std::vector<Operand>{list, none})->bytes, n * 4);
  EXPECT_EQ(operator_cost("aten::cat", std::vector<Operand>{list, none})->bytes, n * 8);
  EXPECT_TRUE(operator_cost("aten::cat", std::vector<Operand>{untold, none})->guessed);
  EXPECT_FALSE(cost({"aten::cat", {{}, {}}, {"TensorList", "Scalar"}})) << "the list is not told";
  EXPECT_FALSE(cost({"aten::_fused_adamw_", {{}, {}}, {"TensorList", "TensorList"}}));
}

TEST(OperatorCost, WhatOthersFused) {
  expect({"triton_poi_fused_add_gelu_3", {{8, 4}, {4}, {8, 4}, {}}, {kHalf, kHalf, kHalf, "Scalar"}}, 0, 2.0 * 68, Kind::stream);
  expect({"sgl_kernel::silu_and_mul", {{16, 8}, {16, 16}}, {kHalf, kHalf}}, 0, 2.0 * 16 * 24, Kind::stream);
}

TEST(OperatorCost, WhatIsNotKnownOrDamaged) {
  EXPECT_FALSE(cost({"fbgemm::asynchronous_complete_cumsum", {{999424}}, {"int"}}));
  EXPECT_FALSE(cost({"AddmmBackward0", {{8, 4}}, {kFloat}}));
  EXPECT_FALSE(cost({"", {{8, 4}}, {kFloat}}));
  EXPECT_FALSE(cost({"aten::add", {{-8, 4}, {4}}, {kFloat, kFloat}}));
  EXPECT_FALSE(cost({"aten::add", {{INT64_MAX, INT64_MAX}, {1}}, {kFloat, kFloat}})) << "no machine holds it";
  EXPECT_FALSE(cost({"aten::add", {Shape(65, 1), {1}}, {kFloat, kFloat}}));
  const auto untyped = cost({"aten::add", {{8, 4}, {8, 4}}, {}});
  ASSERT_TRUE(untyped);
  EXPECT_TRUE(untyped->guessed);
}

}  // namespace
}  // namespace muster::diagnose
