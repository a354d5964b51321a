// What a profiler saw of one rank: what ran on the GPU, which call launched it, and the marks that the program set.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// Nanoseconds on the trace's own clock, which is not ours and may begin anywhere.
struct Span {
  std::int64_t start_ns = 0, end_ns = 0;

  std::int64_t length() const { return end_ns - start_ns; }
};

enum class GpuWork : std::uint8_t { compute, communication, copy, fill };

constexpr std::uint64_t kNoCorrelation = UINT64_MAX;

// A kernel, a copy or a fill.
struct GpuEvent {
  Span span;
  std::uint64_t correlation = kNoCorrelation;  // of the call that launched it
  std::uint32_t name = 0;                      // Trace::names
  std::uint32_t stream = 0;
  std::int16_t device = 0;
  GpuWork work = GpuWork::compute;
};

// A call of the CUDA or HIP runtime or driver.
struct RuntimeCall {
  Span span;
  std::uint64_t correlation = kNoCorrelation;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;  // Trace::threads
};

// An annotation on the host: a step, a batch that is fetched, an optimizer.
struct Mark {
  Span span;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
};

struct Trace {
  std::optional<std::uint32_t> rank, ranks;  // of the job; none: not told
  std::vector<std::string> names;            // untrusted, as are threads
  std::vector<std::string> threads;
  std::vector<std::string> gpus;  // by device
  std::vector<GpuEvent> gpu;      // in the order of the file
  std::vector<RuntimeCall> calls;
  std::vector<Mark> steps;    // "ProfilerStep#7", in their order
  std::uint64_t events = 0;   // all there were
  std::uint64_t damaged = 0;  // that could not be read
  bool cut = false;           // the file ends in the middle
};

}  // namespace muster
