#include "diagnose/kernel_profile.h"

#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

KernelMeasurement kernel(const char* name, double us) {
  KernelMeasurement k;
  k.name = name;
  k.duration_ns = us * 1e3;
  k.blocks = 1320;
  k.sms = 132;
  k.waves = 10;
  return k;
}

KernelDiagnosis diagnose(std::vector<KernelMeasurement> all) { return diagnose_kernels({std::move(all), 0}); }

std::string only_title(const KernelDiagnosis& d) { return d.findings.size() == 1 ? d.findings[0].title : "several or none"; }

TEST(KernelProfile, SharesOfTime) {
  auto a = kernel("a", 10), b = kernel("b", 60), more = kernel("a", 30);
  a.sm_pct = 20;
  more.sm_pct = 60;
  const auto d = diagnose({a, b, more});
  ASSERT_EQ(d.kernels.size(), 2U);
  EXPECT_EQ(d.kernels[0].name, "b");
  EXPECT_DOUBLE_EQ(d.kernels[0].share_pct, 60);
  EXPECT_EQ(d.kernels[1].launches, 2U);
  EXPECT_DOUBLE_EQ(*d.kernels[1].sm_pct, 50) << "weighed by time";
  EXPECT_DOUBLE_EQ(d.time_ns, 100e3);
}

TEST(KernelProfile, FewerBlocksThanSms) {
  auto k = kernel("gemm_small", 10);
  k.blocks = 33;
  k.waves = 0.25;
  const auto d = diagnose({k});
  EXPECT_EQ(only_title(d), "gemm_small does not fill the GPU");
  EXPECT_EQ(d.kernels[0].bound, KernelBound::fill);
  EXPECT_EQ(d.findings[0].evidence.back(), "to gain: up to 75 % of this kernel's time");
}

TEST(KernelProfile, WhatThereIsToGainIsOfTheKernelAndNotOfAStep) {
  auto few = kernel("few", 10), late = kernel("late", 20), moves = kernel("moves", 30), plain = kernel("gemm", 40);
  few.blocks = 33;
  late.waves = 1.2;
  late.sm_pct = 50;
  moves.memory_pct = 91;
  plain.sm_pct = 60;
  plain.tensor_pct = 0;
  const auto d = diagnose({few, late, moves, plain});
  ASSERT_EQ(d.findings.size(), 4U);
  for (const Finding& f : d.findings) {
    EXPECT_FALSE(f.gain) << f.title;
    EXPECT_NE(f.evidence.back().find("% of this kernel's time"), std::string::npos) << f.title;
  }
}

TEST(KernelProfile, TheLastWave) {
  auto k = kernel("gemm", 10);
  k.waves = 1.2;
  k.sm_pct = 50;
  k.tensor_pct = 45;
  const auto d = diagnose({k});
  EXPECT_EQ(only_title(d), "gemm loses time in its last wave");
  EXPECT_NEAR(*d.kernels[0].tail_pct, 40, 1e-9);
  EXPECT_EQ(d.findings[0].evidence.back(), "to gain: up to 40 % of this kernel's time");
}

TEST(KernelProfile, HalfAWaveWithABlockForEachSmLosesNothing) {
  auto k = kernel("gemm", 10);
  k.blocks = 528;
  k.waves = 0.5;  // eight would fit on an SM, and each has four
  k.sm_pct = 65;
  auto d = diagnose({k});
  EXPECT_TRUE(d.findings.empty());
  EXPECT_FALSE(d.kernels[0].tail_pct);
  k.sms.reset();
  EXPECT_TRUE(diagnose({k}).findings.empty()) << "nor where the SMs were not counted";
  k.blocks = 8;
  k.waves = 8.0 / 132 / 8;
  EXPECT_EQ(only_title(diagnose({k})), "gemm does not fill the GPU") << "so few that each SM would hold more than it can";
}

TEST(KernelProfile, ABusyKernelHasNoTail) {
  auto k = kernel("gemm", 10);
  k.waves = 1.2;
  k.tensor_pct = 80;
  k.sm_pct = 88;
  EXPECT_TRUE(diagnose({k}).findings.empty());
}

TEST(KernelProfile, ManyOrWholeWavesLoseNothing) {
  auto whole = kernel("whole", 10), many = kernel("many", 10);
  whole.waves = 2;
  many.waves = 20.5;
  whole.sm_pct = many.sm_pct = 90;
  const auto d = diagnose({whole, many});
  EXPECT_TRUE(d.findings.empty());
  EXPECT_EQ(d.kernels[0].bound, KernelBound::compute);
}

TEST(KernelProfile, BoundByMemory) {
  auto k = kernel("vectorized_elementwise_kernel", 10);
  k.memory_pct = 91;
  k.sm_pct = 22;
  const auto d = diagnose({k});
  EXPECT_EQ(only_title(d), "vectorized_elementwise_kernel runs as fast as the memory lets it");
  EXPECT_EQ(d.kernels[0].bound, KernelBound::memory);
  EXPECT_EQ(d.findings[0].confidence, Confidence::high);
}

TEST(KernelProfile, TensorCoresThatAreNotUsed) {
  auto k = kernel("sm80_xmma_gemm_f32f32_f32f32_f32_tn", 10);
  k.sm_pct = 92;
  k.memory_pct = 30;
  k.tensor_pct = 0;
  EXPECT_EQ(only_title(diagnose({k})), "sm80_xmma_gemm_f32f32_f32f32_f32_tn multiplies matrices without the tensor cores");
  k.tensor_pct = 80;
  EXPECT_TRUE(diagnose({k}).findings.empty());
  k.tensor_pct.reset();
  EXPECT_TRUE(diagnose({k}).findings.empty()) << "what was not measured is not held against it";
}

TEST(KernelProfile, WhatLimitsOccupancy) {
  auto k = kernel("attention", 10);
  k.sm_pct = 30;
  k.memory_pct = 20;
  k.achieved_occupancy_pct = 12;
  k.theoretical_occupancy_pct = 12.5;
  k.limit_registers = 1;
  k.limit_shared = 2;
  k.limit_blocks = 32;
  k.limit_warps = 8;
  auto d = diagnose({k});
  EXPECT_EQ(only_title(d), "attention has few warps to hide latency with: registers limit it");
  EXPECT_EQ(d.kernels[0].bound, KernelBound::latency);
  k.limit_registers = 8;
  d = diagnose({k});
  EXPECT_EQ(d.kernels[0].limiter, "shared memory");
  k.achieved_occupancy_pct = 70;
  EXPECT_EQ(only_title(diagnose({k})), "attention is bound by latency");
}

KernelMeasurement few_warps() {
  auto k = kernel("spilly", 900);
  k.sm_pct = 22;
  k.memory_pct = 24;
  k.achieved_occupancy_pct = 12.3;
  k.blocks = 2000;
  k.threads = 256;
  k.capability = 9.0;
  return k;
}

TEST(KernelProfile, WhereNoMoreWarpsFitMoreBlocksAreNoRemedy) {
  auto k = few_warps();
  k.theoretical_occupancy_pct = 12.5;
  k.registers = 255;
  auto d = diagnose({k});
  EXPECT_EQ(only_title(d), "spilly has few warps to hide latency with: registers limit it") << "worked out: one block fits";
  EXPECT_EQ(d.findings[0].evidence[1], "occupancy 12.3 %, and 12.5 % would fit; SM throughput 22.0 %, memory 24.0 %");
  EXPECT_EQ(d.findings[0].evidence[2], "255 registers a thread");
  EXPECT_TRUE(d.findings[0].remedy.starts_with("fewer registers a thread")) << d.findings[0].remedy;
  EXPECT_EQ(d.findings[0].remedy.find("more blocks"), std::string::npos);
  k.registers = 40;
  k.shared_bytes = 200 * 1024;
  EXPECT_EQ(diagnose({k}).kernels[0].limiter, "shared memory");
  k.shared_bytes.reset();
  d = diagnose({k});
  EXPECT_EQ(only_title(d), "spilly has few warps to hide latency with: no more fit") << "40 registers are not what limits it";
  EXPECT_TRUE(d.findings[0].remedy.starts_with("fewer registers a thread or less shared memory")) << d.findings[0].remedy;
}

TEST(KernelProfile, WhereMoreWarpsWouldFitMoreBlocksAreTheRemedy) {
  auto k = few_warps();
  k.theoretical_occupancy_pct = 100;
  k.registers = 32;
  auto d = diagnose({k});
  EXPECT_EQ(only_title(d), "spilly has few warps to hide latency with");
  EXPECT_EQ(d.findings[0].remedy, "more blocks, or work that is spread evenly over them");
  k.theoretical_occupancy_pct.reset();
  k.registers.reset();
  k.limit_registers = 2;
  d = diagnose({k});
  EXPECT_EQ(only_title(d), "spilly has few warps to hide latency with: registers limit it");
  EXPECT_EQ(d.findings[0].evidence[1], "occupancy 12.3 %, and 25.0 % would fit; SM throughput 22.0 %, memory 24.0 %");
  EXPECT_NE(d.findings[0].remedy.find("; and more blocks"), std::string::npos) << "half of what fits is not there";
  k.limit_registers.reset();
  EXPECT_EQ(diagnose({k}).findings[0].evidence[1], "occupancy 12.3 %; SM throughput 22.0 %, memory 24.0 %");
}

TEST(KernelProfile, TypesThatTheGpuHasNotAreNotAdvised) {
  auto k = kernel("volta_sgemm_64x64_nt", 10);
  k.sm_pct = 92;
  k.tensor_pct = 0;
  k.capability = 7.0;
  EXPECT_EQ(diagnose({k}).findings[0].remedy.find("TF32"), std::string::npos);
  k.capability = 8.0;
  EXPECT_NE(diagnose({k}).findings[0].remedy.find("TF32"), std::string::npos);
  k.capability = 6.1;
  EXPECT_TRUE(diagnose({k}).findings.empty()) << "it has no tensor cores";
}

TEST(KernelProfile, ASlowClock) {
  auto k = kernel("a", 10);
  k.sm_pct = 90;
  k.sm_hz = 1.2e9;
  k.sm_hz_max = 1.98e9;
  const auto d = diagnose({k});
  EXPECT_EQ(only_title(d), "The SMs ran below the clock that the GPU can");
  EXPECT_EQ(d.findings[0].achieved, "1.20 GHz");
  k.duration_ns.reset();
  EXPECT_EQ(only_title(diagnose({k})), "The SMs ran below the clock that the GPU can") << "times or none";
}

TEST(KernelProfile, NothingMeasured) {
  EXPECT_TRUE(diagnose({}).kernels.empty());
  KernelMeasurement bare;
  const auto d = diagnose({bare});
  ASSERT_EQ(d.kernels.size(), 1U);
  EXPECT_EQ(d.kernels[0].bound, KernelBound::unknown);
  EXPECT_TRUE(d.findings.empty());
  EXPECT_DOUBLE_EQ(d.kernels[0].share_pct, 100);
}

}  // namespace
}  // namespace muster::diagnose
