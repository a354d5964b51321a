// Traces made by hand, for tests: what the host called, what ran for it, and what the program marked.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "diagnose/physics.h"
#include "model/trace.h"

namespace muster::diagnose {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;
constexpr std::string_view kPageable = "Memcpy HtoD (Pageable -> Device)", kPinned = "Memcpy HtoD (Pinned -> Device)";

// Of a GPU like an H200.
inline Peaks peaks() {
  Peaks p;
  p.gpu = "h200";
  p.fp32 = 50e12;
  p.tf32 = 350e12;
  p.bf16 = 700e12;
  p.fp8 = 1300e12;
  p.bytes_per_s = 4e12;
  p.host_bytes_per_s = 50e9;
  return p;
}

// References are good until the next of its kind is made.
struct TraceBuilder {
  Trace t;
  std::uint64_t correlations = 0;

  std::uint32_t name(std::string_view text) {
    for (std::uint32_t i = 0; i < t.names.size(); ++i) {
      if (t.names[i] == text) return i;
    }
    t.names.emplace_back(text);
    return static_cast<std::uint32_t>(t.names.size() - 1);
  }

  void step(Span span) { t.steps.push_back({span, name("ProfilerStep#" + std::to_string(t.steps.size() + 5)), 0}); }
  void mark(Span span, std::string_view what) { t.marks.push_back({span, name(what), 0}); }
  void fetch(Span span) { mark(span, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"); }
  void call(Span span, std::string_view what, std::uint64_t correlation = kNoCorrelation, std::uint32_t thread = 0) {
    t.calls.push_back({span, correlation, name(what), thread});
  }
  void sync(Span span) { call(span, "cudaStreamSynchronize"); }

  // What nobody is known to have launched.
  GpuEvent& event(Span span, std::string_view what, std::uint32_t stream = 7, GpuWork work = GpuWork::compute) {
    GpuEvent e;
    e.span = span;
    e.name = name(what);
    e.stream = stream;
    e.work = work;
    t.gpu.push_back(e);
    return t.gpu.back();
  }
  GpuEvent& launched(Span by, std::string_view call_name, GpuEvent& e) {
    e.correlation = ++correlations;
    call(by, call_name, e.correlation);
    return e;
  }
  GpuEvent& kernel(Span by, Span span, std::uint32_t stream = 7, std::string_view what = "nvjet_tst_128x256") {
    return launched(by, "cudaLaunchKernel", event(span, what, stream));
  }
  GpuEvent& copy(Span by, Span span, std::uint64_t bytes, std::string_view what, std::uint32_t stream = 7) {
    GpuEvent& e = launched(by, "cudaMemcpyAsync", event(span, what, stream, GpuWork::copy));
    e.bytes = bytes;
    return e;
  }
  GpuEvent& exchange(Span by, Span span, std::string_view op = "allreduce", std::string_view group = "0", std::uint32_t ranks = 2,
                     std::uint64_t seq = UINT64_MAX, std::uint32_t stream = 20) {
    const ExchangeAsk ask{name(op), name(group), name("BFloat16"), ranks, 1'000'000, 1'000'000, seq};
    GpuEvent& e = launched(by, "cudaLaunchKernelExC", event(span, "ncclDevKernel", stream, GpuWork::communication));
    e.detail = static_cast<std::uint32_t>(t.exchanges.size());
    t.exchanges.push_back(ask);
    return e;
  }
  // The operator that kernels with this external id were launched for.
  void op(Span span, std::string_view what, std::uint32_t external = kNone, std::vector<OpInput> inputs = {}) {
    const std::uint32_t in = inputs.empty() ? kNone : static_cast<std::uint32_t>(t.inputs.size());
    if (!inputs.empty()) t.inputs.push_back(std::move(inputs));
    t.ops.push_back({span, name(what), 0, external, in});
  }
};

// A host and a GPU that do as such do, and write down when: what a profiler would have seen.
struct Machine {
  static constexpr std::int64_t kLatency = 5 * us, kGap = 1'500, kCall = 4 * us;

  TraceBuilder b;
  std::int64_t host = 0;
  std::map<std::uint32_t, std::int64_t> free;  // by stream

  void think(std::int64_t ns) { host += ns; }
  void fetch(std::int64_t ns) {
    b.fetch({host, host + ns});
    host += ns;
  }
  std::int64_t begin(std::uint32_t stream, std::int64_t latency, std::int64_t after = INT64_MIN) {
    const auto it = free.find(stream);
    return std::max(
        {host + latency, it == free.end() ? INT64_MIN : it->second + kGap, after == INT64_MIN ? after : after + kGap});
  }
  // Returns when it ends; `after`: something of another stream must have.
  std::int64_t kernel(std::int64_t ns, std::uint32_t stream = 7, std::int64_t after = INT64_MIN,
                      std::string_view what = "nvjet_tst_128x256") {
    const std::int64_t at = begin(stream, kLatency, after);
    b.kernel({host, host + kCall}, {at, at + ns}, stream, what);
    host += kCall;
    return free[stream] = at + ns;
  }
  void wait(std::uint32_t stream = 7) {
    const std::int64_t end = std::max(host + kCall, free[stream] + 2 * us);
    b.sync({host, end});
    host = end;
  }
  void call_malloc() {
    b.call({host, host + 200 * us}, "cudaMalloc");
    host += 200 * us;
  }
  void copy_pageable(std::int64_t ns, std::uint64_t bytes) {
    const std::int64_t at = begin(7, 8 * us);
    b.copy({host, at + ns + 3 * us}, {at, at + ns}, bytes, kPageable);
    free[7] = at + ns;
    host = at + ns + 3 * us;
  }
  void copy_pinned(std::int64_t ns, std::uint64_t bytes, std::uint32_t stream = 7) {
    const std::int64_t at = begin(stream, 8 * us);
    b.copy({host, host + kCall}, {at, at + ns}, bytes, kPinned, stream);
    free[stream] = at + ns;
    host += kCall;
  }
  template <class F>
  void steps(int n, const F& body) {
    for (int k = 0; k < n; ++k) {
      const std::int64_t from = host;
      body(k);
      b.step({from, host});
    }
  }
};

}  // namespace muster::diagnose
