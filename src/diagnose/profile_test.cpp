#include "diagnose/profile.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.h"
#include "diagnose/trace_builder.h"

namespace muster::diagnose {
namespace {

// A profile of which only the shares are known.
Profile shared(std::initializer_list<std::pair<Bound, double>> shares, std::size_t steps = 4) {
  static const GpuEvent kEvent;
  Profile p;
  p.line.events.push_back(&kEvent);
  for (std::size_t k = 0; k < steps; ++k) p.line.steps.push_back({{0, 10 * ms}, kNone, {}});
  for (const auto& [bound, pct] : shares) p.shares[static_cast<std::size_t>(bound)] = pct;
  p.replay_error = 0.01;
  return p;
}
std::string_view bound_of(std::initializer_list<std::pair<Bound, double>> shares) {
  const Profile p = shared(shares);
  return names(Bound{})[static_cast<std::size_t>(verdict_of({&p, 1}).bound)];
}

TEST(Profile, WhatIsDoneBoundsTheStepUnlessMuchIsLost) {
  using B = Bound;
  EXPECT_EQ(bound_of({{B::compute, 70}, {B::memory, 20}, {B::launch, 10}}), "compute");
  EXPECT_EQ(bound_of({{B::compute, 30}, {B::memory, 60}, {B::launch, 10}}), "memory");
  EXPECT_EQ(bound_of({{B::compute, 74}, {B::launch, 26}}), "launch");
  EXPECT_EQ(bound_of({{B::compute, 76}, {B::launch, 24}}), "compute");
  EXPECT_EQ(bound_of({{B::compute, 66}, {B::sync, 16}, {B::launch, 10}, {B::input, 8}}), "sync") << "a third is lost in all";
  EXPECT_EQ(bound_of({{B::compute, 66}, {B::sync, 14}, {B::launch, 10}, {B::input, 10}}), "compute")
      << "to nothing in particular";
  EXPECT_EQ(bound_of({{B::compute, 70}, {B::sync, 20}, {B::launch, 10}}), "compute");
  for (const B b : {B::communication, B::input, B::launch, B::sync, B::copy, B::pipeline})
    EXPECT_EQ(bound_of({{B::memory, 60}, {b, 40}}), names(b)[static_cast<std::size_t>(b)]);
}

TEST(Profile, WhatNobodyCanNameIsNoBound) {
  using B = Bound;
  EXPECT_EQ(bound_of({{B::compute, 60}, {B::other, 40}}), "compute");
  EXPECT_EQ(bound_of({{B::compute, 60}, {B::dependency, 40}}), "compute");
  EXPECT_EQ(bound_of({{B::compute, 40}, {B::other, 60}}), "compute");
  const Profile idle = shared({{B::compute, 30}, {B::input, 8}, {B::other, 62}});
  const Verdict v = verdict_of({&idle, 1});
  EXPECT_TRUE(v.nameless);
  EXPECT_EQ(v.confidence, Confidence::low);
  EXPECT_EQ(v.sentence,
            "of a step of 10 ms the GPU is idle 62 % for no reason that a call of the host shows; of what it shows, "
            "most is compute (30 %)");
  EXPECT_EQ(bound_of({{B::compute, 42}, {B::other, 30}, {B::launch, 28}}), "launch") << "what has a name and counts comes first";
}

TEST(Profile, HowSureAVerdictIs) {
  using B = Bound;
  Profile p = shared({{B::compute, 90}, {B::launch, 10}});
  EXPECT_EQ(verdict_of({&p, 1}).confidence, Confidence::high);
  EXPECT_EQ(verdict_of({&p, 1}).sentence, "of a step of 10 ms the GPU computes 90 %: its arithmetic is the limit");
  p.replay_error = 0.04;
  EXPECT_EQ(verdict_of({&p, 1}).confidence, Confidence::low);
  EXPECT_NE(verdict_of({&p, 1}).sentence.find("; a replay of it is 4 % off"), std::string::npos);
  p = shared({{B::compute, 90}, {B::launch, 10}}, 1);
  EXPECT_EQ(verdict_of({&p, 1}).confidence, Confidence::medium) << "one step is no measurement";
  p = shared({{B::compute, 50}, {B::memory, 45}, {B::launch, 5}});
  EXPECT_EQ(verdict_of({&p, 1}).confidence, Confidence::medium) << "another is near";
  p = shared({{B::compute, 20}, {B::other, 80}});
  EXPECT_EQ(verdict_of({&p, 1}).confidence, Confidence::low);
  const std::vector<Profile> ranks = {shared({{B::compute, 100}}), shared({{B::compute, 40}, {B::input, 60}}), Profile{}};
  const Verdict v = verdict_of(ranks);
  EXPECT_EQ(v.bound, B::input) << "30 % over those ranks that have a GPU";
  EXPECT_EQ(v.sentence, "of a step of 10 ms, over 2 ranks the GPU waits 30 % for the next batch");
  EXPECT_EQ(verdict_of({}).sentence, "nothing ran on a GPU: what bounds the job cannot be told from this");
}

TEST(Profile, SharesSumToAHundred) {
  PartTimes parts{};
  EXPECT_EQ(shares_of(parts, {}), Shares{});
  for (std::size_t i = 0; i < kParts; ++i) parts[i] = static_cast<std::int64_t>(i + 1);
  Physics k;
  k.compute_ns = 3;
  k.memory_ns = 1;
  const Shares s = shares_of(parts, k);
  EXPECT_NEAR(std::accumulate(s.begin(), s.end(), 0.0), 100, 1e-9);
  const auto of = [&](Bound b) { return s[static_cast<std::size_t>(b)] * 78 / 100; };
  EXPECT_NEAR(of(Bound::compute), 0.75 * 3, 1e-9) << "alone and beside exchanges, as the kernels share it";
  EXPECT_NEAR(of(Bound::memory), 0.25 * 3, 1e-9);
  EXPECT_NEAR(of(Bound::communication), 3 + 4, 1e-9);
  EXPECT_NEAR(of(Bound::copy), 5 + 6, 1e-9);
  EXPECT_NEAR(of(Bound::other), 12, 1e-9);
}

struct Case {
  Machine m;
  Profile p;
  Verdict v;
  std::vector<Finding> findings;

  explicit Case(Machine machine, const Peaks& of = peaks()) : m(std::move(machine)) {
    p = take_apart(m.b.t, "rank0.json", of);
    const Replay replay = play_again(p);
    v = verdict_of({&p, 1});
    findings = profile_findings(p, replay, of, v);
    for (const Finding& f : findings) {
      EXPECT_FALSE(f.title.empty() || f.title.ends_with('.')) << f.title;
      EXPECT_FALSE(f.remedy.empty()) << f.title;
      EXPECT_FALSE(f.verify.empty()) << f.title;
      EXPECT_GE(f.cost_pct, 0) << f.title;
      EXPECT_LE(f.cost_pct, 100.01) << f.title;
      if (f.gain) {
        EXPECT_GE(f.gain->low_pct, 0) << f.title;
        EXPECT_LE(f.gain->low_pct, f.gain->high_pct) << f.title;
        EXPECT_LE(f.gain->high_pct, 99) << f.title;
      }
    }
  }
  std::string_view bound() const { return names(Bound{})[static_cast<std::size_t>(v.bound)]; }
  const Finding* find(std::string_view title) const {
    for (const Finding& f : findings) {
      if (f.title.starts_with(title)) return &f;
    }
    return nullptr;
  }
  double step() const { return static_cast<double>(p.line.step_ns()); }
};

// What the change in the program itself brings lies within what was said that it would.
void expect_gain(const Finding& f, const Case& before, const Case& after) {
  const double gain = 100 * (1 - after.step() / before.step());
  ASSERT_TRUE(f.gain);
  EXPECT_GE(gain, f.gain->low_pct) << f.title;
  EXPECT_LE(gain, f.gain->high_pct + 5) << f.title;  // it may promise a little less than all
}

Machine loading(bool workers) {
  Machine m;
  m.steps(6, [&](int) {
    m.fetch(workers ? 20 * us : 20 * ms);
    m.think(200 * us);
    for (int i = 0; i < 20; ++i) m.kernel(400 * us);
    m.wait();
  });
  return m;
}

TEST(Findings, AStepThatWaitsForItsInput) {
  const Case c(loading(false)), fed(loading(true));
  EXPECT_EQ(c.bound(), "input");
  EXPECT_EQ(fed.bound(), "compute");
  ASSERT_FALSE(c.findings.empty());
  EXPECT_TRUE(c.findings[0].title.starts_with("The GPU waits 70.")) << c.findings[0].title;
  EXPECT_EQ(c.findings[0].remedy, "DataLoader(num_workers=5, prefetch_factor=4, persistent_workers=True)");
  expect_gain(c.findings[0], c, fed);
  EXPECT_EQ(fed.find("The GPU waits"), nullptr);
}

Machine asking(bool asks) {
  Machine m;
  m.steps(6, [&](int) {
    for (int i = 0; i < 8; ++i) {
      m.think(100 * us);
      for (int k = 0; k < 3; ++k) m.kernel(40 * us);
      m.b.op({m.host, m.host + us}, "aten::item");
      if (asks) m.wait();
    }
  });
  return m;
}

TEST(Findings, AHostThatAsksForEveryResult) {
  const Case c(asking(true)), ahead(asking(false));
  EXPECT_EQ(c.bound(), "sync");
  EXPECT_TRUE(c.findings[0].title.starts_with("The host waits for the GPU, and then leaves it idle"));
  expect_gain(c.findings[0], c, ahead);
  EXPECT_NE(std::find(c.findings[0].evidence.begin(), c.findings[0].evidence.end(), "8 waits a step"),
            c.findings[0].evidence.end());
  EXPECT_NE(std::find(c.findings[0].evidence.begin(), c.findings[0].evidence.end(), "aten::item was called 48 times"),
            c.findings[0].evidence.end());
}

Machine copying(bool pinned) {
  Machine m;
  m.steps(6, [&](int) {
    if (pinned) {
      m.copy_pinned(2 * ms, 100'000'000);
    } else {
      m.copy_pageable(10 * ms, 100'000'000);
    }
    for (int i = 0; i < 40; ++i) m.kernel(250 * us);
  });
  return m;
}

TEST(Findings, CopiesFromMemoryThatIsNotPinned) {
  const Case c(copying(false)), pinned(copying(true));
  EXPECT_EQ(c.bound(), "copy");
  const Finding& f = c.findings[0];
  EXPECT_TRUE(f.title.starts_with("Copies from memory that is not pinned take 49.")) << f.title;
  EXPECT_EQ(f.achieved, "10 GB/s");
  EXPECT_EQ(f.expected, "50 GB/s from pinned memory");
  expect_gain(f, c, pinned);
  const Finding* rest = pinned.find("Copies between host and GPU take 16.");
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(pinned.bound(), "compute");
  const Case unknown(copying(false), Peaks{});
  ASSERT_NE(unknown.find("Copies from memory that is not pinned"), nullptr);
  EXPECT_FALSE(unknown.findings[0].gain) << "what pinned memory gives on this GPU is not known";
}

TEST(Findings, AHostThatLaunchesSlowly) {
  Machine m;
  m.steps(6, [&](int) {
    for (int i = 0; i < 100; ++i) {
      m.think(16 * us);
      m.kernel(4 * us);
    }
  });
  const Case c(std::move(m));
  EXPECT_EQ(c.bound(), "launch");
  EXPECT_TRUE(c.findings[0].title.starts_with("The host launches too slowly: the GPU is idle 80.")) << c.findings[0].title;
  EXPECT_TRUE(c.findings[0].evidence[0].ends_with(" kernels a step, half of them shorter than 4 us"))
      << c.findings[0].evidence[0];
  ASSERT_TRUE(c.findings[0].gain);
  EXPECT_GT(c.findings[0].gain->low_pct, 50);
}

TEST(Findings, ProductsWithoutTensorCores) {
  Machine m;
  const std::vector<OpInput> inputs = {{{{8192, 8192}}, "float", ""}, {{{8192, 8192}}, "float", ""}};
  m.b.t.inputs.push_back(inputs);
  m.steps(4, [&](int k) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const auto id = static_cast<std::uint32_t>(4 * k) + i;
      m.b.op({m.host, m.host + us}, "aten::mm", id);
      m.b.t.ops.back().inputs = 0;
      m.kernel(25 * ms, 7, INT64_MIN, "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_ffma__5x_cublas");
      m.b.t.gpu.back().external = id;
    }
  });
  const Case c(std::move(m));
  EXPECT_EQ(c.bound(), "compute");
  const Finding& f = c.findings[0];
  EXPECT_TRUE(f.title.starts_with("Products in 32 bits leave the tensor cores idle: 100.0 %")) << f.title;
  EXPECT_EQ(f.achieved, "44 TFLOP/s");
  EXPECT_EQ(f.expected, "350 TFLOP/s in TF32");
  EXPECT_NEAR((f.gain->low_pct + f.gain->high_pct) / 2, 100 * (1 - 44.0 / 350), 6);
}

TEST(Findings, OperatorsThatOnlyGoThroughMemory) {
  Machine m;
  m.steps(4, [&](int) {
    m.kernel(1 * ms);
    for (int i = 0; i < 9; ++i) m.kernel(1 * ms, 7, INT64_MIN, "void at::native::vectorized_elementwise_kernel<4, X>(int)");
  });
  const Case c(std::move(m));
  EXPECT_EQ(c.bound(), "memory");
  EXPECT_TRUE(c.findings[0].title.starts_with("Operators that only go through memory, one by one, take 89.9 %"))
      << c.findings[0].title;
  const double gain = 100 * (1 - (1 + 5.0 / 3) / 10);
  EXPECT_LE(c.findings[0].gain->low_pct, gain);
  EXPECT_GE(c.findings[0].gain->high_pct, gain);
}

TEST(Findings, ExchangesThatNothingRunsBeside) {
  Machine m;
  m.steps(5, [&](int) {
    m.kernel(6 * ms);
    m.b.exchange({m.host, m.host + 4 * us}, {m.free[7] + 2 * us, m.free[7] + 4 * ms}, "allreduce");
    m.host += 4 * us;
    m.free[7] += 4 * ms;
  });
  const Case c(std::move(m));
  EXPECT_EQ(c.bound(), "communication");
  EXPECT_TRUE(c.findings[0].title.starts_with("Exchanges that nothing is computed beside take 40.0 %")) << c.findings[0].title;
  EXPECT_LE(c.findings[0].gain->low_pct, 40);
  EXPECT_GE(c.findings[0].gain->high_pct, 39);
}

TEST(Findings, NoMoreIsHiddenThanThereIsToHideItBehind) {
  Machine m;
  m.steps(5, [&](int) {
    m.kernel(1 * ms);
    m.b.exchange({m.host, m.host + 4 * us}, {m.free[7] + 2 * us, m.free[7] + 9 * ms}, "allreduce");
    m.host += 4 * us;
    m.free[7] += 9 * ms;
  });
  const Case c(std::move(m));
  const Finding& f = c.findings[0];
  ASSERT_TRUE(f.gain);
  EXPECT_NEAR((f.gain->low_pct + f.gain->high_pct) / 2, 10, 2) << "a millisecond of ten, however long the exchange";
  EXPECT_NE(f.remedy.find("exchange less or faster"), std::string::npos) << f.remedy;
}

TEST(Findings, NothingSavesMoreThanItCosts) {
  Machine m;  // the host is late for every kernel; those that could be fused are few
  m.steps(5, [&](int) {
    for (int i = 0; i < 60; ++i) {
      m.think(100 * us);
      m.kernel(8 * us, 7, INT64_MIN, "void at::native::vectorized_elementwise_kernel<4, X>(int)");
    }
  });
  const Case c(std::move(m));
  for (const Finding& f : c.findings) {
    EXPECT_LE(f.gain ? f.gain->high_pct : 0, f.cost_pct + 1e-9) << f.title;
  }
}

TEST(Findings, AGpuWithoutTf32IsNotAdvisedToUseIt) {
  const auto remedy = [](const char* gpu, const char* kernel) {
    Machine m;
    if (*gpu != 0) m.b.t.gpus = {gpu};
    m.steps(4, [&](int) {
      for (int i = 0; i < 4; ++i) m.kernel(25 * ms, 7, INT64_MIN, kernel);
    });
    const Case c(std::move(m), Peaks{});
    return c.findings.empty() ? std::string() : c.findings[0].remedy + (c.findings[0].gain ? " gain" : "");
  };
  EXPECT_NE(remedy("Tesla V100-SXM2-32GB", "volta_sgemm_128x64_nt").find("float16"), std::string::npos);
  EXPECT_EQ(remedy("Tesla V100-SXM2-32GB", "volta_sgemm_128x64_nt").find("gain"), std::string::npos);
  EXPECT_NE(remedy("", "volta_sgemm_128x64_nt").find("float16"), std::string::npos);
  EXPECT_NE(remedy("NVIDIA A100", "ampere_sgemm_128x64_nt").find("set_float32_matmul_precision"), std::string::npos);
}

TEST(Findings, GraphsAreNotAdvisedWhereTheyAre) {
  Machine m;
  m.steps(5, [&](int) {
    m.think(4 * ms);
    m.b.call({m.host, m.host + 20 * us}, "cudaGraphLaunch", 900'000 + static_cast<std::uint64_t>(m.host));
    for (int i = 0; i < 20; ++i) {
      m.b.event({m.host + (10 + 20 * i) * us, m.host + (25 + 20 * i) * us}, "nvjet_tst").correlation =
          900'000 + static_cast<std::uint64_t>(m.host);
    }
    m.host += 20 * us;
  });
  const Case c(std::move(m));
  for (const Finding& f : c.findings) EXPECT_EQ(f.remedy.find("reduce-overhead"), std::string::npos) << f.title;
}

TEST(Findings, WhatBoundsTheStepIsNeverWithoutAFinding) {
  for (const bool input : {true, false}) {
    Machine m;
    m.steps(4, [&](int k) {
      if (input && k > 0) m.fetch(3 * ms);
      m.think(input ? 10 * us : 60 * us);
      m.kernel(input ? 500 * us : 3 * us);
      m.wait();
    });
    const Case c(std::move(m));
    EXPECT_FALSE(c.findings.empty()) << c.bound();
  }
}

TEST(Findings, WhatBoundsTheStepComesFirst) {
  Machine m;
  m.steps(5, [&](int) {
    m.fetch(6 * ms);
    for (int i = 0; i < 10; ++i) m.kernel(300 * us, 7, INT64_MIN, "void at::native::vectorized_elementwise_kernel<4, X>(int)");
    m.call_malloc();
    m.wait();
  });
  const Case c(std::move(m));
  ASSERT_GE(c.findings.size(), 2U);
  EXPECT_EQ(c.bound(), "input");
  EXPECT_TRUE(c.findings[0].title.starts_with("The GPU waits")) << c.findings[0].title;
  Verdict v;
  v.bound = Bound::memory;
  const auto memory = profile_findings(c.p, Replay(*c.p.trace, c.p.line), peaks(), v);
  EXPECT_TRUE(memory[0].title.starts_with("Operators that only go through memory")) << memory[0].title;
  EXPECT_NE(c.find("Memory is taken and given back within steps"), nullptr);
}

TEST(Findings, NothingOfAnEmptyOrPerfectProfile) {
  EXPECT_TRUE(Case(Machine{}).findings.empty());
  Machine instant;
  instant.b.event({5, 5}, "volta_sgemm_64x64_nt");
  EXPECT_TRUE(Case(std::move(instant)).findings.empty()) << "no time passed";
  Machine m;
  m.steps(4, [&](int) {
    for (int i = 0; i < 10; ++i) m.kernel(2 * ms);
  });
  for (const Finding& f : Case(std::move(m), Peaks{}).findings) ADD_FAILURE() << f.title;
}

TEST(Findings, GainsStayWithinReasonWhateverHappened) {
  const std::string_view kernels[] = {"nvjet_tst_128x256",
                                      "volta_sgemm_64x64_nt",
                                      "void at::native::reduce_kernel<512>(X)",
                                      "multi_tensor_apply_kernel<X>",
                                      "evil\x1b[31m",
                                      "flash_fwd"};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Prng r(seed, "profile");
    Machine m;
    const auto about = [&](std::int64_t mean) { return static_cast<std::int64_t>(r.exponential(static_cast<double>(mean))); };
    m.b.t.inputs.push_back({{{{512, 512}}, "float", ""}, {{{512, 512}, {8}}, "", ""}});
    m.b.t.launches = {{40, 64, 32, 0, 5}};
    m.b.t.units = {132};
    m.steps(static_cast<int>(1 + r.below(4)), [&](int) {
      for (std::uint64_t n = 1 + r.below(40); n > 0; --n) {
        m.think(about(10 * us));
        const std::uint64_t what = r.below(12);
        if (what == 0) m.wait();
        if (what == 1) m.fetch(about(300 * us));
        if (what == 2) m.copy_pageable(about(100 * us), r.below(1'000'000));
        if (what == 3) m.copy_pinned(about(100 * us), r.below(1'000'000));
        if (what == 4) m.call_malloc();
        if (what == 5) m.b.exchange({m.host, m.host + us}, {m.host + 2 * us, m.host + 3 * us + about(50 * us)});
        if (what < 6) continue;
        const auto id = static_cast<std::uint32_t>(r.below(1000));
        m.b.op({m.host, m.host + us}, r.chance(0.5) ? "aten::mm" : "aten::_foreach_add_", id);
        if (r.chance(0.5)) m.b.t.ops.back().inputs = 0;
        m.kernel(about(60 * us), r.chance(0.2) ? 8U : 7U, INT64_MIN, kernels[r.below(6)]);
        m.b.t.gpu.back().external = id;
        if (r.chance(0.5)) m.b.t.gpu.back().detail = 0;
      }
    });
    SCOPED_TRACE(seed);
    const Case c(std::move(m), r.chance(0.8) ? peaks() : Peaks{});
    const double sum = std::accumulate(c.p.shares.begin(), c.p.shares.end(), 0.0);
    EXPECT_NEAR(sum, c.p.line.step_ns() > 0 ? 100 : 0, 1e-6);
    for (const Finding& f : c.findings) {
      for (const std::string& e : f.evidence) EXPECT_EQ(e.find('\x1b'), std::string::npos);
    }
  }
}

TEST(Profile, TimesThatCannotBe) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Prng r(seed, "times");
    const auto span = [&] {
      const std::int64_t far = INT64_MAX / 4, from = r.chance(0.5) ? far : r.chance(0.5) ? -far : 0;
      return Span{from, from + static_cast<std::int64_t>(r.chance(0.5) ? r.below(1U << 30) : static_cast<std::uint64_t>(far))};
    };
    Machine m;
    m.b.t.inputs.push_back({{{{INT64_MAX, INT64_MAX}, {INT64_MAX}}, "float", ""}});
    for (std::uint64_t n = 1 + r.below(12); n > 0; --n) {
      m.b.kernel(span(), span(), 7, r.chance(0.5) ? "multi_tensor_apply_kernel" : "volta_sgemm").external = 1;
      m.b.copy(span(), span(), r.next(), kPageable);
      m.b.sync(span());
      m.b.fetch(span());
      m.b.op(span(), "aten::_foreach_add_", 1);
      m.b.t.ops.back().inputs = 0;
    }
    const Case c(std::move(m));
    for (const StepParts& s : c.p.line.steps)
      ASSERT_EQ(std::accumulate(s.ns.begin(), s.ns.end(), std::int64_t{0}), s.span.length());
  }
}

TEST(Profile, WhatItCannotSay) {
  Trace none;
  Profile bare;
  bare.trace = &none;
  none.ranks = 8;
  none.left_out = 5;
  const auto all = shortcomings({&bare, 1}, Peaks{});
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[2], "no shapes: kernels are told apart by their names alone (record_shapes=True)");
  EXPECT_EQ(all[4], "one rank of 8: whether an exchange waits for a peer or moves data cannot be told from it");
  EXPECT_EQ(all[5], "5 operators beyond what is kept were left out of the shapes");
  Machine m = loading(true);
  m.b.op({0, 1}, "aten::mm", 1, {{{{4, 4}}, "float", ""}});
  const Profile whole = take_apart(m.b.t, "x", peaks());
  EXPECT_TRUE(shortcomings({&whole, 1}, peaks()).empty());
}

}  // namespace
}  // namespace muster::diagnose
