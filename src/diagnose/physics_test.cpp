#include "diagnose/physics.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/trace_builder.h"

namespace muster::diagnose {
namespace {

std::vector<OpInput> tensors(std::initializer_list<std::vector<std::int64_t>> shapes, std::string type = "c10::BFloat16") {
  std::vector<OpInput> out;
  for (const auto& s : shapes) out.push_back({{s}, type, ""});
  return out;
}

// Kernels one after the other, each launched for an operator of its own.
struct Kernels {
  TraceBuilder b;
  std::int64_t at = 0;
  void op(std::string_view name, std::uint32_t external, std::vector<OpInput> inputs) {
    b.op({at, at + us}, name, external, std::move(inputs));
  }
  GpuEvent& kernel(std::string_view name, std::int64_t ns, std::uint32_t external = kNone) {
    GpuEvent& e = b.kernel({at, at + us}, {at + 2 * us, at + 2 * us + ns}, 7, name);
    e.external = external;
    at += 2 * us + ns;
    return e;
  }
  Physics physics(const Peaks& p = peaks()) {
    line = timeline(b.t);
    return diagnose::physics(b.t, line, p);
  }
  Timeline line;
};

constexpr std::string_view kGemm = "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN";
constexpr std::string_view kAdd =
    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, X>(int, Y)";

TEST(Physics, ProductsByTheShapesOfTheirOperators) {
  Kernels r;
  r.op("aten::mm", 11, tensors({{4096, 4096}, {4096, 4096}}));
  r.kernel(kGemm, 250 * us, 11);
  const Physics p = r.physics();
  ASSERT_EQ(p.classes.size(), 1U);
  const KernelClass& c = p.classes[0];
  EXPECT_EQ(c.name, "aten::mm [4096, 4096] x [4096, 4096]");
  EXPECT_EQ(c.kind, KernelKind::product);
  EXPECT_DOUBLE_EQ(c.flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(c.bytes, 3.0 * 2 * 4096 * 4096);
  EXPECT_EQ(c.limit, Limit::compute);
  EXPECT_NEAR(c.share_of_peak(), 137.44e9 / 700e12 / 250e-6, 1e-3);
  EXPECT_EQ(c.count, 1U);
  EXPECT_EQ(p.compute_ns, 250 * us);
  EXPECT_EQ(p.memory_ns, 0);
  EXPECT_EQ(p.of_event, std::vector<std::uint32_t>{0});
}

TEST(Physics, ProductsInOtherFormats) {
  const auto share = [](std::string_view kernel, const std::string& type) {
    Kernels r;
    r.op("aten::mm", 11, tensors({{4096, 4096}, {4096, 4096}}, type));
    r.kernel(kernel, 1'000 * us, 11);
    return r.physics().classes[0].share_of_peak();
  };
  const double flops = 2.0 * 4096 * 4096 * 4096;
  EXPECT_NEAR(share("sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_ffma__5x_cublas", "float"), flops / 50e12 / 1e-3,
              1e-3);
  EXPECT_NEAR(share("sm80_xmma_gemm_tf32f32_tf32f32_f32_nt_n__5x_cublas", "float"), flops / 350e12 / 1e-3, 1e-3);
  EXPECT_NEAR(share(kGemm, "c10::Half"), flops / 700e12 / 1e-3, 1e-3);
  EXPECT_NEAR(share(kGemm, "c10::Float8_e4m3fn"), flops / 1300e12 / 1e-3, 1e-3);
}

TEST(Physics, MemoryIsTheLimitOfStreamsAndOfThinProducts) {
  Kernels r;
  r.op("aten::add", 21, tensors({{16384, 8192}, {16384, 8192}}));
  r.kernel(kAdd, 250 * us, 21);
  r.op("aten::mm", 22, tensors({{8, 8192}, {8192, 8192}}));
  r.kernel(kGemm, 50 * us, 22);
  const Physics p = r.physics();
  ASSERT_EQ(p.classes.size(), 2U);
  EXPECT_EQ(p.classes[0].kind, KernelKind::stream);
  EXPECT_EQ(p.classes[0].limit, Limit::memory);
  EXPECT_NEAR(p.classes[0].share_of_peak(), 3 * 2.0 * 16384 * 8192 / 4e12 / 250e-6, 1e-3);
  EXPECT_EQ(p.classes[1].kind, KernelKind::product);
  EXPECT_EQ(p.classes[1].limit, Limit::memory);
  EXPECT_EQ(p.memory_ns, 300 * us);
}

TEST(Physics, WhatIsTooSmallToFillTheGpu) {
  Kernels r;
  r.op("aten::add", 21, tensors({{64, 64}, {64, 64}}));
  r.kernel(kAdd, 3 * us, 21);
  r.op("aten::mm", 22, tensors({{64, 64}, {64, 64}}));
  r.kernel(kGemm, 4 * us, 22);
  const Physics p = r.physics();
  EXPECT_EQ(p.classes[0].limit, Limit::size);
  EXPECT_EQ(p.classes[1].limit, Limit::size);
  EXPECT_EQ(p.compute_ns, 4 * us) << "products that are too small count as computing";
  EXPECT_EQ(p.memory_ns, 3 * us);
}

TEST(Physics, OperatorsAlikeAreOneClass) {
  Kernels r;
  r.op("aten::mm", 1, tensors({{1024, 1024}, {1024, 1024}}));
  r.b.op({0, 1}, "aten::mm", 2);
  r.b.t.ops.back().inputs = r.b.t.ops.front().inputs;  // the reader keeps inputs alike once
  r.kernel("void cublasLt::splitKreduce_kernel<32>(X)", 5 * us, 1);
  r.kernel(kGemm, 30 * us, 1);
  r.kernel(kGemm, 20 * us, 2);
  r.kernel("unknown_kernel<int>(float*)", 60 * us);
  r.kernel("unknown_kernel<int>(float*)", 60 * us, 99).external = 99;
  const Physics p = r.physics();
  ASSERT_EQ(p.classes.size(), 2U);
  EXPECT_EQ(p.classes[0].name, "unknown_kernel<int>") << "what takes most comes first";
  EXPECT_EQ(p.classes[0].count, 2U);
  EXPECT_EQ(p.classes[0].flops, 0);
  EXPECT_EQ(p.classes[1].count, 2U) << "operators, not kernels";
  EXPECT_DOUBLE_EQ(p.classes[1].flops, 2 * 2.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(p.classes[1].own_ns, 55 * us);
  EXPECT_EQ(r.b.t.names[p.classes[1].kernel], kGemm) << "the kernel that takes the most of it";
  EXPECT_EQ(p.of_event, (std::vector<std::uint32_t>{1, 1, 1, 0, 0}));
}

TEST(Physics, WhatIsNotCountedAsAKernel) {
  Kernels r;
  r.kernel(kGemm, 30 * us);
  r.b.copy({r.at, r.at + us}, {r.at + 2 * us, r.at + 50 * us}, 1 << 20, kPinned);
  r.b.copy({r.at, r.at + us}, {r.at + 50 * us, r.at + 60 * us}, 1 << 20, "Memcpy DtoD (Device -> Device)");
  r.b.exchange({r.at, r.at + us}, {r.at + 60 * us, r.at + 90 * us});
  const Physics p = r.physics();
  EXPECT_EQ(p.of_event, (std::vector<std::uint32_t>{0, kNone, 1, kNone})) << "only copies within the device are";
  EXPECT_EQ(p.compute_ns, 30 * us);
  EXPECT_EQ(p.memory_ns, 10 * us);
}

TEST(Physics, WhatNeitherShapesNorNamesTellOf) {
  Kernels r;
  r.kernel(kGemm, 30 * us);
  r.kernel("my_sha256_bruteforce_kernel", 50 * us);
  r.op("aten::add", 21, tensors({{16384, 8192}, {16384, 8192}}));
  r.kernel("mystery", 250 * us, 21);
  const Physics p = r.physics();
  EXPECT_EQ(p.unknown_ns, 50 * us);
  EXPECT_EQ(p.compute_ns, 80 * us);
  EXPECT_EQ(p.memory_ns, 250 * us) << "its operator tells";
}

TEST(Physics, LaunchesUnitsAndNamesThatPeopleRead) {
  Kernels r;
  r.b.t.units = {132};
  r.b.t.launches = {{64, 128, 32, 0, 12}};
  r.kernel("void at::native::(anonymous namespace)::softmax_warp_forward<float, 10>(float*, int)", 30 * us).detail = 0;
  r.kernel("evil\x1b[31m\n", 20 * us);
  r.kernel(std::string(300, 'x'), 10 * us);
  const Physics p = r.physics(Peaks{});
  EXPECT_EQ(p.units, 132U);
  EXPECT_EQ(p.classes[0].launch->blocks, 64U);
  EXPECT_EQ(p.classes[0].name, "softmax_warp_forward<float, 10>");
  EXPECT_EQ(p.classes[1].name.find('\x1b'), std::string::npos);
  EXPECT_LE(p.classes[2].name.size(), 90U);
  for (const KernelClass& c : p.classes) EXPECT_EQ(c.share_of_peak(), 0) << "nothing is known of the GPU";
}

TEST(Physics, ShapesThatCannotBeDoNoHarm) {
  Kernels r;
  const std::int64_t huge = INT64_MAX;
  r.op("aten::mm", 1, tensors({{huge, huge}, {huge, huge}}));
  r.kernel(kGemm, 30 * us, 1);
  r.op("aten::mm", 2, tensors({{0, 4}, {4, 0}}));
  r.kernel(kGemm, 30 * us, 2);
  r.op("aten::add", 3, tensors({{}, {}}));
  r.kernel(kAdd, 30 * us, 3);
  r.op("aten::_foreach_add_", 4, {{{{4, 4}, {8}, {}}, "", ""}, {}});
  r.kernel("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<X>(Y)", 30 * us, 4);
  const Physics p = r.physics();
  EXPECT_EQ(p.classes.size(), 4U);
  for (const KernelClass& c : p.classes) EXPECT_GE(c.share_of_peak(), 0);
  EXPECT_EQ(p.compute_ns + p.memory_ns, 120 * us);
}

TEST(Physics, PeaksOfDataSheetsAndOfWhatWasMeasured) {
  GpuModel g;
  g.name = "h100";
  g.bf16_tflops = 989;
  g.fp8_tflops = 1979;
  g.fp32_tflops = 67;
  g.hbm_tb_s = 3.35;
  g.host_gb_s = 55;
  const Peaks sheet = peaks_of(g, {});
  EXPECT_TRUE(sheet.known());
  EXPECT_FALSE(sheet.measured);
  EXPECT_LT(sheet.bf16, 989e12) << "no program gets all of it";
  EXPECT_GT(sheet.bf16, 0.6 * 989e12);
  EXPECT_DOUBLE_EQ(sheet.tf32, sheet.bf16 / 2);
  EXPECT_DOUBLE_EQ(sheet.host_bytes_per_s, 55e9);
  Timing gemm, small, stream, failed;
  gemm.m = gemm.n = gemm.k = 8192;
  gemm.forward_s = 2 * 8192.0 * 8192 * 8192 / 700e12;
  small = gemm;
  small.forward_s *= 3;
  stream.kind = Timing::Kind::stream;
  stream.bytes = 1e9;
  stream.forward_s = 1e9 / 3.1e12;
  failed = gemm;
  failed.forward_s = 0;
  const std::vector<Timing> all = {small, gemm, stream, failed};
  const Peaks measured = peaks_of(g, all);
  EXPECT_TRUE(measured.measured);
  EXPECT_NEAR(measured.bf16, 700e12, 1e6) << "the best of them";
  EXPECT_NEAR(measured.bytes_per_s, 3.1e12, 1e3);
  EXPECT_DOUBLE_EQ(measured.fp8, sheet.fp8) << "not measured";
  EXPECT_FALSE(peaks_of(GpuModel{}, {}).known());
}

struct Named {
  std::string_view name;
  KernelKind kind;
  bool fp32 = false;
};

void expect_kinds(std::initializer_list<Named> all) {
  for (const Named& n : all) {
    EXPECT_EQ(names(n.kind)[static_cast<std::size_t>(kernel_kind(n.name))], names(n.kind)[static_cast<std::size_t>(n.kind)])
        << n.name;
    EXPECT_EQ(is_plain_fp32(n.name), n.fp32) << n.name;
  }
}

TEST(Physics, KindsOfKernelsByTheirNames) {
  using K = KernelKind;
  expect_kinds({
      {kGemm, K::product},
      {"sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_"
       "cublas",
       K::product, true},
      {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(cutlass_80_simt_sgemm_128x32_8x5_nn_align1::Params)",
       K::product, true},
      {"void sgemm_largek_lds64<true, false, 5, 5, 4, 4, 4, 34>(float*, float const*)", K::product, true},
      {"volta_sgemm_64x64_nt", K::product, true},
      {"ampere_sgemm_128x64_nn", K::product, true},
      {"void magma_sgemmEx_kernel<float, float, float, false, false, 6, 3, 5, 3, 3>(int, int)", K::product, true},
      {"void gemmSN_NN_kernel<float, 256, 4, 2, 8, 4, 4, false, cublasGemvTensorStridedBatched<float const> >", K::product, true},
      {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4>(X)", K::product},
      {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(X)", K::product},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
       K::product},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_SN_LDSB0", K::product},
      {"_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", K::product},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_1x4x1_cga1x1x1_kernel0_0", K::attention},
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4> >", K::attention},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(X)", K::attention},
      {"attn_fwd", K::attention},
      {"kernel_unified_attention_2d", K::attention},
      {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16", K::convolution},
      {"void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int, int)", K::convolution, true},
      {"cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", K::convolution, true},
      {"void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int)", K::convolution},
      {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(X)", K::convolution},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
       "namespace)::FusedOptimizerTensorListMetadata<4>, X>",
       K::optimizer},
      {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(int)", K::optimizer},
      {kAdd, K::stream},
      {"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, X> >(at::native::ReduceOp<float, X>)", K::stream},
      {"void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true, false>(X)", K::stream},
      {"void cudnn::fusion::convert_dq_to_16bits<true>(void const*, void*)", K::stream},
      {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 32, true, 1>(float)", K::stream},
      {"triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1", K::stream},
      {"void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 3, false, false>(X)", K::stream},
      {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib", K::stream},
      {"", K::unknown},
      {"my_sha256_bruteforce_kernel", K::unknown},
  });
}

TEST(Physics, NamesThatSayMoreThanTheyMean) {
  using K = KernelKind;
  expect_kinds({
      {"void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*, int const*, int*)", K::stream},
      {"triton_poi_fused_convolution_relu_0", K::stream},
      {"triton_poi_fused__to_copy_mm_3", K::stream},
      {"triton_per_fused__scaled_dot_product_flash_attention_backward_2", K::stream},
      {"triton_tem_fused_mm_5", K::product},
      {"_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_40BlockFmhaBatchPrefillPipelineQRKSVSAsync",
       K::attention},
      {"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>(X)",
       K::convolution},
      {"void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false>(X)",
       K::product},
      {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false>(X)", K::product, true},
      {"void gemvNSP_kernel<__half, __half, __half, float, 1, 16, 4, 1024>(X)", K::product},
  });
}

}  // namespace
}  // namespace muster::diagnose
