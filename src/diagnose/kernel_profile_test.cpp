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
  EXPECT_DOUBLE_EQ(d.findings[0].gain->high_pct, 75);
}

TEST(KernelProfile, TheLastWave) {
  auto k = kernel("gemm", 10);
  k.waves = 1.2;
  k.sm_pct = 50;
  k.tensor_pct = 45;
  const auto d = diagnose({k});
  EXPECT_EQ(only_title(d), "gemm loses time in its last wave");
  EXPECT_NEAR(*d.kernels[0].tail_pct, 40, 1e-9);
  EXPECT_NEAR(d.findings[0].gain->high_pct, 40, 1e-9);
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

TEST(KernelProfile, ASlowClock) {
  auto k = kernel("a", 10);
  k.sm_pct = 90;
  k.sm_hz = 1.2e9;
  k.sm_hz_max = 1.98e9;
  const auto d = diagnose({k});
  EXPECT_EQ(only_title(d), "The SMs ran below the clock that the GPU can");
  EXPECT_EQ(d.findings[0].achieved, "1.20 GHz");
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
