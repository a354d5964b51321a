// Recordings built in code, for tests: nodes of eight H200 that ran `quick`, with figures as two cards gave them, spread as those
// of a healthy fleet may be.
#pragma once
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "accept/judge.h"
#include "accept/plan.h"
#include "base/prng.h"
#include "base/text.h"
#include "model/acceptance.h"

namespace muster::accept {

constexpr std::string_view kHostileName = "<script>alert('x')</script>\x1b[31m\"&`";

struct SampleFigure {
  AcceptTest test;
  std::string_view metric;
  double value, spread;  // of the value, between cards
  bool held = false;     // a rate over a stretch, with a clock
};

inline std::vector<SampleFigure> sample_figures() {
  using T = AcceptTest;
  return {{T::link, "h2d_gb_s", 55.5, 0.003},
          {T::link, "d2h_gb_s", 55.3, 0.003},
          {T::link, "both_gb_s", 98.7, 0.01},
          {T::link, "launch_us", 4.5, 0.05},
          {T::link, "link_gen", 5, 0},
          {T::link, "link_width", 16, 0},
          {T::sweep, "sweep_ms", 8.6, 0.01},
          {T::sweep, "sweep_sms", 132, 0},
          {T::sweep, "sweep_tensor", 1.004, 0.001},
          {T::sweep, "sweep_fp64", 1.002, 0.001},
          {T::sweep, "sweep_fp32", 1.003, 0.001},
          {T::sweep, "sweep_int", 1.003, 0.001},
          {T::sweep, "sweep_special", 1.003, 0.001},
          {T::sweep, "sweep_shared", 1.005, 0.001},
          {T::hbm, "hbm_read", 4693, 0.001},
          {T::hbm, "hbm_write", 4653, 0.001},
          {T::hbm, "hbm_copy", 4127, 0.001},
          {T::march, "march_share", 99.2, 0},
          {T::march, "march_s", 0.53, 0.005},
          {T::march, "march_write", 4364, 0.003},
          {T::march, "march_verify", 4600, 0.003},
          {T::gemm_bf16, "gemm_bf16", 722, 0.0175, true},
          {T::gemm_bf16, "gemm_bf16_verified", 44e9 * 3, 0},
          {T::gemm_fp16, "gemm_fp16", 700, 0.0175, true},
          {T::gemm_fp16, "gemm_fp16_verified", 44e9 * 3, 0},
          {T::gemm_fp8, "gemm_fp8", 1190, 0.0175, true},
          {T::gemm_fp8, "gemm_fp8_verified", 70e9 * 3, 0},
          {T::gemm_tf32, "gemm_tf32", 345, 0.0175, true},
          {T::gemm_tf32, "gemm_tf32_verified", 20e9 * 3, 0},
          {T::gemm_int8, "gemm_int8", 1280, 0.0175, true},
          {T::gemm_int8, "gemm_int8_verified", 70e9 * 3, 0},
          {T::sustained, "sustained_bf16", 685, 0.0175, true},
          {T::sustained, "sustained_fp8", 1224, 0.0175, true},
          {T::pulse, "pulse_products", 4100, 0.01},
          {T::sweep_hot, "sweep_sms", 132, 0},
          {T::sweep_hot, "sweep_tensor", 1.004, 0.001},
          {T::sweep_hot, "sweep_fp64", 1.002, 0.001},
          {T::sweep_hot, "sweep_fp32", 1.003, 0.001},
          {T::sweep_hot, "sweep_int", 1.003, 0.001},
          {T::sweep_hot, "sweep_special", 1.003, 0.001},
          {T::sweep_hot, "sweep_shared", 1.005, 0.001},
          {T::march_hot, "march_share", 99.2, 0},
          {T::march_hot, "march_verify", 4590, 0.003},
          {T::peers, "pair_gb_s:0>1", 388, 0.003}};
}

// The SM clock at which a rate is held: what differs between healthy cards is how much clock the power limit leaves them.
constexpr double kSampleMhz = 1484;

inline void add_sample_test(Acceptance& a, std::int32_t gpu, const Step& step, double begun_s, double took_s, double clock,
                            Prng& draw) {
  a.ran.push_back({gpu, step.test, 0, TestState::done, "", begun_s, took_s});
  for (const SampleFigure& f : sample_figures()) {
    if (f.test != step.test) continue;
    accepting::Measured m{gpu, f.test, 0, std::string(f.metric), f.value, 0, 0, -1};
    if (f.held) {
      // What a clock gives is the same within 0.3 %.
      const double unit = 1 + 0.002 * draw.normal();
      m.value = f.value * clock * unit;
      m.begun_s = begun_s + 0.3;
      m.took_s = std::max(1.0, took_s - 0.6);
      m.mhz = kSampleMhz * clock;
    } else {
      m.value = f.value * (1 + f.spread * draw.normal());
    }
    a.measured.push_back(std::move(m));
  }
}

inline void add_sample_readings(Acceptance& a, std::int32_t gpu, double every_s, double clock, Prng& draw) {
  double heat = 36;
  std::vector<std::pair<double, double>> busy;
  for (const auto& r : a.ran) {
    const bool loads = r.test >= AcceptTest::gemm_bf16 && r.test <= AcceptTest::pulse;
    if (r.gpu == gpu && loads) busy.emplace_back(r.begun_s, r.begun_s + r.took_s);
  }
  const double end = a.ran.back().begun_s + a.ran.back().took_s;
  for (double t = 0; t < end; t += every_s) {
    const bool load = std::any_of(busy.begin(), busy.end(), [t](const auto& b) { return t >= b.first && t < b.second; });
    heat += ((load ? 64 : 40) - heat) * every_s / 6;
    const double power = (load ? 691 : 180) * (1 + 0.03 * draw.normal());
    const double mhz = (load ? kSampleMhz * clock : 1980) + 12 * draw.normal();
    a.readings.push_back({gpu, t, power, mhz, heat, heat - 8, load ? 4U : 1U});
  }
}

// `every_s`: between readings of power and clock; 0: none.
inline Acceptance sample_node(std::uint32_t number = 1, std::int32_t gpus = 8, double every_s = 0.04) {
  Acceptance a;
  Prng draw(7 + number, "sample");
  a.file = fmt::format("recordings/gpu{:04}.jsonl", number);
  a.suite = suite_of(AcceptProfile::quick);
  a.suite.muster = "0.1.0";
  a.host = {fmt::format("gpu{:04}", number),
            Time{1'793'000'000'000'000'000 + number * 60'000'000'000LL},
            "6.1.0-40-amd64",
            "580.159.04",
            "13.0",
            "13.1.0",
            "air"};
  for (std::int32_t g = 0; g < gpus; ++g) {
    const std::uint64_t serial = 1'650'000'000'000 + number * 100 + static_cast<std::uint64_t>(g);
    a.gpus.push_back({g, fmt::format("GPU-{:08x}-0000-4000-8000-{:012x}", number, g), std::to_string(serial), "NVIDIA H200",
                      fmt::format("0000:{:02x}:00.0", 0x18 + 0x10 * g), "96.00.A5.00.0C", "692-2G520-0280-001", 132, 143771, 700,
                      700, 5, 16});
    const double clock = 1 + 0.0175 * draw.normal();
    double at = 0;
    for (const Step& step : plan_of(AcceptProfile::quick)) {
      if (step.test == AcceptTest::peers && gpus < 2) {
        a.ran.push_back({g, step.test, 0, TestState::not_applicable, "one GPU has no peers", at, 0});
        continue;
      }
      const double took = std::max(0.2, step.seconds) + 0.3;
      add_sample_test(a, g, step, at, took, clock, draw);
      at += took;
    }
    for (const char* name : {"ecc_corrected", "ecc_uncorrected", "remapped_uncorrectable", "remap_pending", "remap_failure"})
      a.counters.push_back({g, name, 0, 0});
    const auto replays = static_cast<double>(draw.below(1300));
    a.counters.push_back({g, "pcie_replays", replays, replays});
    a.counters.push_back({g, "sram_exceeded", -1, -1});
    if (every_s > 0) {
      add_sample_readings(a, g, every_s, clock, draw);
    } else {
      a.measured.push_back({g, AcceptTest::sustained, 0, "power_w", 691 * (1 + 0.004 * draw.normal()), 0, 0, -1});
      a.measured.push_back({g, AcceptTest::sustained, 0, "gpu_c_max", 63 + 2 * draw.normal(), 0, 0, -1});
    }
  }
  for (accepting::Measured& m : from_readings(a)) a.measured.push_back(std::move(m));
  a.end.push_back({a.ran.back().begun_s + a.ran.back().took_s + 0.4, false, 0, 0});
  return a;
}

inline std::vector<Acceptance> sample_fleet(std::uint32_t nodes, std::int32_t gpus = 8) {
  std::vector<Acceptance> out;
  out.reserve(nodes);
  for (std::uint32_t n = 1; n <= nodes; ++n) out.push_back(sample_node(n, gpus, 0));
  return out;
}

// A verdict as a judge gives it, when nothing is wrong.
inline Judgement sample_pass(const Acceptance& a) {
  Judgement j;
  for (const auto& g : a.gpus) j.gpus.push_back({g.gpu, Verdict::pass, {}});
  return j;
}

inline void add_trouble(Judgement& j, Trouble t) {
  j.verdict = std::max(j.verdict, t.verdict);
  if (t.gpu < 0) {
    j.node.push_back(std::move(t));
    return;
  }
  for (GpuVerdict& g : j.gpus) {
    if (g.gpu != t.gpu) continue;
    g.verdict = std::max(g.verdict, t.verdict);
    g.troubles.push_back(std::move(t));
    return;
  }
}

// SM 17 of GPU 3 computes wrongly, GPU 5 reads its memory slowly, and a kernel's record says so.
inline std::pair<Acceptance, Judgement> sample_failed() {
  Acceptance a = sample_node();
  a.wrong.push_back({3, AcceptTest::sweep, 0, "SM 17", 3, "unit fp32: 0x4a21f00c instead of 0x4a21f10c"});
  a.wrong.push_back({3, AcceptTest::sweep_hot, 0, "SM 17", 5, "unit fp32: 0x4a21f00c instead of 0x4a21f10c"});
  for (auto& m : a.measured) {
    if (m.gpu == 5 && m.metric == "hbm_read") m.value = 4410;
  }
  for (auto& c : a.counters) {
    if (c.gpu == 5 && c.name == "ecc_corrected") c.after = 14;
  }
  a.kernel.push_back({3, 94, 12.5, "NVRM: Xid (PCI:0000:48:00): 94, Contained: SM 17"});
  Judgement j = sample_pass(a);
  add_trouble(j, {3,
                  Verdict::fail,
                  Class::wrong_results,
                  Part::sms,
                  AcceptTest::sweep,
                  "SM 17 computes wrongly: 3 results differ",
                  "unit fp32: 0x4a21f00c instead of 0x4a21f10c; the same SM again while hot",
                  "reset the GPU and test again; if it remains, return the board",
                  "",
                  0,
                  0,
                  {}});
  add_trouble(j, {5, Verdict::degraded, Class::slow, Part::memory, AcceptTest::hbm, "memory read is 6.0 % below its kind",
                  "4,410 GB/s; the limit is 4,650 GB/s, of 8,000 GPUs of the fleet",
                  "reset the GPU and test again; if it remains, return the board", "hbm_read", 4410, 4650, Basis::fleet});
  j.notes = {"sram_exceeded cannot be read on these GPUs"};
  return {std::move(a), std::move(j)};
}

}  // namespace muster::accept
