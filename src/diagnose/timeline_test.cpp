#include "diagnose/timeline.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.h"
#include "diagnose/trace_builder.h"

namespace muster::diagnose {
namespace {

std::int64_t of(const Timeline& line, Part p) { return line.parts()[static_cast<std::size_t>(p)]; }

// One kernel from 10 to 100 us, launched at 5: what comes next decides what the time after it was.
TraceBuilder one_kernel() {
  TraceBuilder b;
  b.kernel({5 * us, 9 * us}, {10 * us, 100 * us});
  return b;
}

// Nanoseconds that are not named must be 0.
void expect_parts(const Timeline& line, std::initializer_list<std::pair<Part, std::int64_t>> wanted) {
  PartTimes all{};
  for (const auto& [part, ns] : wanted) all[static_cast<std::size_t>(part)] += ns;
  const PartTimes got = line.parts();
  for (std::size_t i = 0; i < kParts; ++i) EXPECT_EQ(got[i], all[i]) << names(Part{})[i];
}

TEST(Timeline, TheHostLaunchesLate) {
  TraceBuilder b = one_kernel();
  b.kernel({120 * us, 125 * us}, {130 * us, 200 * us});
  const Timeline line = timeline(b.t);
  expect_parts(line, {{Part::compute, 160 * us}, {Part::launch, 30 * us}});
  EXPECT_EQ(line.step_ns(), 190 * us);
  ASSERT_EQ(line.gaps.size(), 2U) << "until it was called, and until it began";
  EXPECT_EQ(line.gaps[0].next, 1U);
  EXPECT_EQ(line.steps[0].name, kNone) << "no marks: all of it is one step";
}

TEST(Timeline, ABatchIsFetched) {
  TraceBuilder b = one_kernel();
  b.fetch({105 * us, 150 * us});
  b.mark({150 * us, 158 * us}, "Optimizer.zero_grad#SGD");
  b.kernel({160 * us, 162 * us}, {165 * us, 200 * us});
  const Timeline line = timeline(b.t);
  expect_parts(line, {{Part::compute, 125 * us}, {Part::launch, 20 * us}, {Part::input, 45 * us}});
  const Gap& g = line.gaps[1];
  EXPECT_EQ(g.part, Part::input);
  EXPECT_EQ(b.t.names[g.during].substr(0, 21), "enumerate(DataLoader)");
}

TEST(Timeline, MarksThatFetchInput) {
  for (const std::string_view mark : {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "get_batch",
                                      "[pl][profile][_TrainingEpochLoop].train_dataloader_next", "batch-generator"})
    EXPECT_TRUE(fetches_input(mark)) << mark;
  for (const std::string_view mark : {"Optimizer.step#Adam.step", "forward", "ProfilerStep#3", "## load_state ##"})
    EXPECT_FALSE(fetches_input(mark)) << mark;
}

TEST(Timeline, TheHostHadWaited) {
  TraceBuilder b = one_kernel();
  b.sync({20 * us, 102 * us});
  b.kernel({160 * us, 162 * us}, {165 * us, 200 * us});
  const Timeline line = timeline(b.t);
  expect_parts(line, {{Part::compute, 125 * us}, {Part::sync, 60 * us}, {Part::launch, 5 * us}});
  EXPECT_EQ(b.t.names[line.gaps[0].during], "cudaStreamSynchronize");
}

TEST(Timeline, AWaitExplainsNoMoreThanItTook) {
  TraceBuilder b = one_kernel();
  b.sync({95 * us, 101 * us});
  b.kernel({501 * us, 502 * us}, {505 * us, 600 * us});
  const Timeline line = timeline(b.t);
  // One microsecond within it, six that the host was later for it, and a hundred to fill an empty queue again.
  expect_parts(line, {{Part::compute, 185 * us}, {Part::sync, 107 * us}, {Part::launch, 298 * us}});
}

TEST(Timeline, ANumberThatIsAskedForIsAWait) {
  TraceBuilder b = one_kernel();
  b.copy({20 * us, 108 * us}, {101 * us, 102 * us}, 4, "Memcpy DtoH (Device -> Pageable)");
  b.kernel({140 * us, 141 * us}, {145 * us, 200 * us});
  const Timeline line = timeline(b.t);
  // The copy itself was in the queue, the time before it is its staging.
  expect_parts(line, {{Part::compute, 145 * us}, {Part::pageable, 2 * us}, {Part::sync, 38 * us}, {Part::launch, 5 * us}});
}

TEST(Timeline, AllocationsWaitToo) {
  TraceBuilder b = one_kernel();
  b.call({90 * us, 150 * us}, "cudaMalloc");
  b.kernel({151 * us, 152 * us}, {155 * us, 200 * us});
  EXPECT_EQ(of(timeline(b.t), Part::sync), 51 * us);
}

TEST(Timeline, QueuedWorkWaitsForAnotherStream) {
  TraceBuilder b = one_kernel();
  b.kernel({6 * us, 9 * us}, {130 * us, 200 * us}, 8);
  expect_parts(timeline(b.t), {{Part::compute, 160 * us}, {Part::dependency, 30 * us}});
  TraceBuilder brief = one_kernel();
  brief.kernel({6 * us, 9 * us}, {105 * us, 200 * us}, 8);
  expect_parts(timeline(brief.t), {{Part::compute, 185 * us}, {Part::launch, 5 * us}});
}

TEST(Timeline, CopiesFromMemoryThatIsNotPinned) {
  TraceBuilder b = one_kernel();
  b.copy({110 * us, 300 * us}, {250 * us, 298 * us}, 1 << 20, kPageable);
  b.kernel({310 * us, 312 * us}, {315 * us, 400 * us});
  const Timeline line = timeline(b.t);
  EXPECT_EQ(of(line, Part::pageable), 190 * us) << "140 of staging, 48 of the copy, 2 until the call was over";
  EXPECT_EQ(of(line, Part::compute), 175 * us);
  EXPECT_EQ(line.own_ns[1], 48 * us);
}

TEST(Timeline, PinnedCopiesAndThoseWithinTheDevice) {
  TraceBuilder b = one_kernel();
  b.copy({20 * us, 22 * us}, {100 * us, 150 * us}, 1 << 20, kPinned);
  b.copy({23 * us, 24 * us}, {150 * us, 160 * us}, 1 << 20, "Memcpy DtoD (Device -> Device)");
  b.launched({25 * us, 26 * us}, "cudaMemsetAsync", b.event({160 * us, 165 * us}, "Memset (Device)", 7, GpuWork::fill));
  b.copy({27 * us, 28 * us}, {165 * us, 175 * us}, 1 << 20, "Memcpy DtoH (Device -> Pinned)");
  expect_parts(timeline(b.t), {{Part::compute, 105 * us}, {Part::pinned, 60 * us}});
}

TEST(Timeline, ExchangesAloneAndBesideKernels) {
  TraceBuilder b = one_kernel();
  b.exchange({20 * us, 22 * us}, {80 * us, 180 * us});
  b.copy({30 * us, 31 * us}, {120 * us, 130 * us}, 1 << 20, kPinned, 9);
  const Timeline line = timeline(b.t);
  expect_parts(line, {{Part::compute, 70 * us}, {Part::compute_beside, 20 * us}, {Part::transfer, 80 * us}});
  EXPECT_EQ(line.own_ns[1], 80 * us);
  EXPECT_EQ(line.own_ns[2], 0) << "a copy beside an exchange costs nothing";
  const std::vector<std::int64_t> waits = {0, 50 * us, 0};
  expect_parts(timeline(b.t, waits),
               {{Part::compute, 70 * us}, {Part::compute_beside, 20 * us}, {Part::wait, 30 * us}, {Part::transfer, 50 * us}});
  const std::vector<std::int64_t> hidden = {0, 15 * us, 0}, more = {0, 900 * us, 0}, fewer = {0};
  EXPECT_EQ(of(timeline(b.t, hidden), Part::wait), 0) << "it waited while a kernel ran";
  EXPECT_EQ(of(timeline(b.t, more), Part::transfer), 0);
  EXPECT_EQ(of(timeline(b.t, fewer), Part::wait), 0);
}

TEST(Timeline, SendsAndReceivesAreThePipelines) {
  for (const std::string_view op : {"send", "recv", "send 0->1", "coalesced"}) {
    TraceBuilder b = one_kernel();
    b.exchange({20 * us, 22 * us}, {100 * us, 180 * us}, op);
    expect_parts(timeline(b.t), {{Part::compute, 90 * us}, {Part::pipeline, 80 * us}});
  }
}

TEST(Timeline, WhatNobodyKnows) {
  TraceBuilder b = one_kernel();
  b.event({150 * us, 160 * us}, "k");
  b.event({165 * us, 170 * us}, "k");
  expect_parts(timeline(b.t), {{Part::compute, 105 * us}, {Part::other, 50 * us}, {Part::launch, 5 * us}});
}

TEST(Timeline, ASilentHostDoesSomethingElse) {
  TraceBuilder b = one_kernel();
  b.op({1'995 * us, 1'999 * us}, "aten::mm");
  b.kernel({2'000 * us, 2'002 * us}, {2'010 * us, 2'100 * us});
  expect_parts(timeline(b.t), {{Part::compute, 180 * us}, {Part::other, 1'900 * us}, {Part::launch, 10 * us}});
  TraceBuilder fetched = one_kernel();
  fetched.op({1'995 * us, 1'999 * us}, "aten::to");
  fetched.copy({2'000 * us, 2'002 * us}, {2'010 * us, 2'100 * us}, 1 << 20, kPinned);
  EXPECT_EQ(of(timeline(fetched.t), Part::input), 1'900 * us) << "it comes back with data";
  TraceBuilder busy = one_kernel();
  for (std::int64_t at = 110; at < 2'000; at += 20) busy.op({at * us, (at + 5) * us}, "aten::add");
  busy.kernel({2'000 * us, 2'002 * us}, {2'010 * us, 2'100 * us});
  EXPECT_EQ(of(timeline(busy.t), Part::launch), 1'910 * us) << "operators one after the other: it is slow";
}

TEST(Timeline, ALockstepJobIsCutAtTheHostsMarks) {
  TraceBuilder b;
  for (std::int64_t k = 0; k < 3; ++k) {
    const std::int64_t at = k * 1'000 * us;
    b.step({at, at + 990 * us});
    b.kernel({at + 100 * us, at + 104 * us}, {at + 110 * us, at + 900 * us});
    b.sync({at + 105 * us, at + 905 * us});
  }
  const Timeline line = timeline(b.t);
  EXPECT_TRUE(line.lockstep);
  ASSERT_EQ(line.steps.size(), 3U);
  EXPECT_EQ(line.steps[0].span.length(), 1'000 * us);
  EXPECT_EQ(line.steps[2].span.length(), 990 * us) << "the last is whole as well";
  EXPECT_EQ(b.t.names[line.steps[2].name], "ProfilerStep#7");
  EXPECT_EQ(of(line, Part::compute), 3 * 790 * us);
  for (const StepParts& s : line.steps) EXPECT_EQ(std::accumulate(s.ns.begin(), s.ns.end(), std::int64_t{0}), s.span.length());
}

TEST(Timeline, AHostThatRunsAheadIsCutWhereItsWorkRuns) {
  TraceBuilder b;
  for (std::int64_t k = 0; k < 4; ++k) {
    b.step({k * 100 * us, k * 100 * us + 100 * us});
    b.kernel({k * 100 * us + 10 * us, k * 100 * us + 12 * us}, {(50 + 500 * k) * us, (540 + 500 * k) * us});
  }
  b.kernel({-50 * us, -48 * us}, {-20 * us, 40 * us});
  const Timeline line = timeline(b.t);
  EXPECT_FALSE(line.lockstep);
  ASSERT_EQ(line.steps.size(), 3U) << "nobody knows where the last one ends";
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(line.steps[k].span.length(), 500 * us);
  EXPECT_EQ(line.launch_steps, (std::vector<std::int64_t>{-1, 0, 1, 2, 3}));
  EXPECT_EQ(of(line, Part::launch), 30 * us) << "ten each, with work in the queue";
}

TEST(Timeline, TheDeviceWithTheMostEventsAndNoEventsAtAll) {
  TraceBuilder b = one_kernel();
  b.kernel({200 * us, 201 * us}, {210 * us, 220 * us}).device = 1;
  b.kernel({230 * us, 231 * us}, {240 * us, 250 * us}).device = 1;
  const Timeline line = timeline(b.t);
  EXPECT_EQ(line.device, 1);
  EXPECT_EQ(line.devices, 2U);
  EXPECT_EQ(line.events.size(), 2U);
  EXPECT_EQ(line.step_ns(), 40 * us);
  TraceBuilder none;
  none.step({0, 5});
  none.sync({1, 2});
  EXPECT_TRUE(timeline(none.t).events.empty());
  EXPECT_EQ(timeline(none.t).step_ns(), 0);
}

TEST(Timeline, WhatCallsDo) {
  EXPECT_EQ(host_call("cudaLaunchKernelExC"), HostCall::launch);
  EXPECT_EQ(host_call("cuLaunchKernel"), HostCall::launch);
  EXPECT_EQ(host_call("hipModuleLaunchKernel"), HostCall::launch);
  EXPECT_EQ(host_call("hipExtModuleLaunchKernel"), HostCall::launch);
  EXPECT_EQ(host_call("cudaGraphLaunch"), HostCall::graph);
  EXPECT_EQ(host_call("cudaMemcpyAsync"), HostCall::copy);
  EXPECT_EQ(host_call("hipMemcpyWithStream"), HostCall::copy);
  EXPECT_EQ(host_call("cudaEventSynchronize"), HostCall::sync);
  EXPECT_EQ(host_call("hipDeviceSynchronize"), HostCall::sync);
  EXPECT_EQ(host_call("cudaFree"), HostCall::allocate);
  EXPECT_EQ(host_call("cudaMallocAsync"), HostCall::plain);
  EXPECT_EQ(host_call("cudaEventRecord"), HostCall::plain);
  EXPECT_EQ(host_call("cudaMemsetAsync"), HostCall::plain);
}

TEST(Timeline, ManyAtATimeAndManyWaitsAreDoneInTheirTime) {
  TraceBuilder nested;
  nested.name("k");
  constexpr std::int64_t kMany = 60'000;
  for (std::int64_t i = 0; i < kMany; ++i) {
    GpuEvent e;
    e.span = {i, 4 * kMany - i};
    nested.t.gpu.push_back(e);
  }
  expect_parts(timeline(nested.t), {{Part::compute, 4 * kMany}});
  // A loader that fetches all the time, and a host that waits after each kernel.
  TraceBuilder waits;
  waits.fetch({0, kMany * us});
  const std::uint32_t launch = waits.name("cudaLaunchKernel"), sync = waits.name("cudaStreamSynchronize");
  for (std::int64_t i = 0; i < kMany; ++i) {
    GpuEvent e;
    e.span = {i * us + 600, i * us + 700};
    e.correlation = static_cast<std::uint64_t>(i);
    waits.t.gpu.push_back(e);
    waits.t.calls.push_back({{i * us + 500, i * us + 550}, e.correlation, launch, 0});
    waits.t.calls.push_back({{i * us + 600, i * us + 720}, kNoCorrelation, sync, 0});
  }
  const Timeline line = timeline(waits.t);
  EXPECT_EQ(of(line, Part::compute), kMany * 100);
  EXPECT_EQ(of(line, Part::input), (kMany - 1) * 800) << "it began before the waits";
}

// Anything at all: on several streams, of no length, outside of the steps, with and without calls, in any order.
TraceBuilder anything(Prng& r, std::int64_t unit) {
  TraceBuilder b;
  const auto span = [&](std::uint64_t longest) {
    const auto at = static_cast<std::int64_t>(r.below(300)) * unit;
    return Span{at, at + static_cast<std::int64_t>(r.below(longest)) * unit};
  };
  const std::string_view copies[] = {kPageable, kPinned, "Memcpy DtoH (Device -> Pageable)", "Memcpy DtoD (Device -> Device)"};
  std::int64_t at = static_cast<std::int64_t>(r.below(120)) * unit;
  for (std::uint64_t k = r.below(5); k > 0; --k) {
    const std::int64_t end = at + static_cast<std::int64_t>(r.below(80)) * unit;
    b.step({at, end});
    at = end + static_cast<std::int64_t>(r.chance(0.5) ? 0 : r.below(20)) * unit;
  }
  for (std::uint64_t n = 1 + r.below(30); n > 0; --n) {
    const auto stream = static_cast<std::uint32_t>(r.below(4));
    const Span by = span(10), run = span(r.chance(0.2) ? 1 : 40);
    switch (r.below(8)) {
      case 0: b.event(run, "k", stream); break;
      case 1: b.copy(by, run, r.below(200'000), copies[r.below(4)], stream); break;
      case 2: b.exchange(by, run, r.chance(0.3) ? "send" : "allreduce", "0", 2, UINT64_MAX, stream); break;
      case 3: b.event(run, "Memset (Device)", stream, GpuWork::fill); break;
      default: b.kernel(by, run, stream); break;
    }
    if (r.chance(0.05)) b.t.gpu.back().device = 1;
    if (r.chance(0.3)) b.sync(span(30));
    if (r.chance(0.1)) b.call(span(30), "cudaMalloc");
    if (r.chance(0.2)) b.fetch(span(60));
    if (r.chance(0.3)) b.op(span(10), "aten::mm");
  }
  return b;
}

// What runs at one moment, told without any of the sweep's bookkeeping; kParts: nothing does.
std::size_t part_at(const Timeline& line, const Trace& t, std::span<const std::int64_t> waits, std::int64_t at,
                    std::int64_t end) {
  const GpuEvent* first[3] = {};
  for (const GpuEvent* e : line.events) {
    const std::size_t row = e->work == GpuWork::compute ? 0 : e->work == GpuWork::communication ? 1 : 2;
    if (e->span.start_ns <= at && e->span.end_ns >= end && first[row] == nullptr) first[row] = e;
  }
  const auto as = [](Part p) { return static_cast<std::size_t>(p); };
  if (first[0] != nullptr) return as(first[1] != nullptr ? Part::compute_beside : Part::compute);
  if (first[1] != nullptr) {
    if (t.names[t.exchanges[first[1]->detail].op] == "send") return as(Part::pipeline);
    return as(at < first[1]->span.start_ns + waits[static_cast<std::size_t>(first[1] - t.gpu.data())] ? Part::wait
                                                                                                      : Part::transfer);
  }
  if (first[2] == nullptr) return kParts;
  const std::string_view name = t.names[first[2]->name];
  if (name.find("HtoD") == name.npos && name.find("DtoH") == name.npos) return as(Part::compute);
  return as(name.find("Pageable") != name.npos ? Part::pageable : Part::pinned);
}

TEST(Timeline, PartsSumToTheirStepsWhateverHappened) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Prng r(seed, "timeline");
    const std::int64_t unit = seed % 3 == 0 ? 1 : seed % 3 == 1 ? us : 37 * us;
    const TraceBuilder b = anything(r, unit);
    std::vector<std::int64_t> waits(b.t.gpu.size());
    for (std::int64_t& w : waits) w = static_cast<std::int64_t>(r.below(50)) * unit - 5 * unit;
    const Timeline line = timeline(b.t, waits);
    ASSERT_EQ(line.calls.size(), line.events.size());
    ASSERT_FALSE(line.steps.empty());
    PartTimes wanted{};
    std::int64_t idle = 0, spans = 0;
    for (std::size_t k = 0; k < line.steps.size(); ++k) {
      const StepParts& s = line.steps[k];
      spans += s.span.length();
      ASSERT_EQ(std::accumulate(s.ns.begin(), s.ns.end(), std::int64_t{0}), s.span.length()) << "seed " << seed;
      for (const std::int64_t ns : s.ns) ASSERT_GE(ns, 0) << "seed " << seed;
      ASSERT_GE(s.span.start_ns, k > 0 ? line.steps[k - 1].span.end_ns : INT64_MIN) << "seed " << seed;
      for (std::int64_t at = s.span.start_ns; at < s.span.end_ns; at += unit) {
        const std::size_t part = part_at(line, b.t, waits, at, at + unit);
        (part == kParts ? idle : wanted[part]) += unit;
      }
    }
    PartTimes idle_parts{};
    std::int64_t gaps = 0, own = std::accumulate(line.own_ns.begin(), line.own_ns.end(), std::int64_t{0});
    for (std::size_t i = 0; i < line.gaps.size(); ++i) {
      const Gap& g = line.gaps[i];
      ASSERT_LT(g.span.start_ns, g.span.end_ns);
      ASSERT_LT(g.next, line.events.size());
      ASSERT_GE(g.span.start_ns, i > 0 ? line.gaps[i - 1].span.end_ns : INT64_MIN) << "seed " << seed;
      gaps += g.span.length();
      idle_parts[static_cast<std::size_t>(g.part)] += g.span.length();
    }
    ASSERT_EQ(own, spans - idle) << "seed " << seed;
    ASSERT_GE(gaps, idle) << "seed " << seed;
    const PartTimes got = line.parts();
    for (std::size_t p = 0; p < kParts && gaps == idle; ++p) {
      ASSERT_EQ(got[p], wanted[p] + idle_parts[p]) << "seed " << seed << " " << names(Part{})[p];
    }
  }
}

// A host that says nothing for long, with or without a word on what it does.
Timeline silent_host(std::string_view mark, bool waits) {
  Machine m;
  m.steps(5, [&](int) {
    for (int i = 0; i < 20; ++i) {
      m.b.op({m.host + us, m.host + 2 * us}, "aten::mm");
      m.kernel(2 * ms);
    }
    if (waits) m.wait();
    const std::int64_t from = m.host;
    m.think(60 * ms);
    if (!mark.empty()) m.b.mark({from, m.host}, mark);
  });
  static Trace kept;
  kept = m.b.t;
  return timeline(kept);
}

TEST(Timeline, AHostThatDoesSomethingElseIsNotLaunchingSlowly) {
  const auto most = [](const Timeline& t) {
    const PartTimes p = t.parts();
    std::size_t at = static_cast<std::size_t>(Part::input);
    for (std::size_t i = at; i < kParts; ++i) at = p[i] > p[at] ? i : at;
    return names(Part{})[at];
  };
  EXPECT_EQ(most(silent_host("", false)), "other");
  EXPECT_EQ(most(silent_host("", true)), "sync") << "it had waited, and left the GPU without work";
  const Timeline saving = silent_host("save_checkpoint", true);
  EXPECT_EQ(most(saving), "other") << "what the program calls it itself goes before what is guessed";
  bool named = false;
  for (const Gap& g : saving.gaps) named = named || (g.part == Part::other && g.during != kNone);
  EXPECT_TRUE(named);
}

}  // namespace
}  // namespace muster::diagnose
