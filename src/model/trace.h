// What a profiler saw of one rank: what ran on the GPU, which call launched it, for which operator, and the marks that the
// program set.
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
constexpr std::uint32_t kNone = UINT32_MAX;  // no such entry of another list

// How a kernel was launched.
struct Launch {
  std::uint64_t blocks = 0;
  std::uint32_t threads = 0;  // of a block
  std::uint32_t registers = 0;
  std::uint32_t shared_bytes = 0;
  std::uint8_t occupancy_pct = 0;  // as the profiler estimates it; 0: not told

  bool operator==(const Launch&) const = default;
};

// What a collective operation was asked to exchange.
struct ExchangeAsk {
  std::uint32_t op = kNone, group = kNone, dtype = kNone;  // Trace::names: "allreduce", "7", "BFloat16"
  std::uint32_t ranks = 0;                                 // of the group
  std::uint64_t in_elements = 0, out_elements = 0;
  std::uint64_t seq = UINT64_MAX;  // of the group; none: not told
  std::uint32_t lowest = kNone, highest = kNone;  // ranks of the group, as far as they are listed
};

// A kernel, a copy or a fill.
struct GpuEvent {
  Span span;
  std::uint64_t correlation = kNoCorrelation;  // of the call that launched it
  std::uint64_t bytes = 0;                     // of a copy or a fill
  std::uint32_t name = 0;                      // Trace::names
  std::uint32_t stream = 0;
  std::uint32_t external = kNone;  // id of the operator it was launched for
  std::uint32_t detail = kNone;    // of an exchange: Trace::exchanges; of another kernel: Trace::launches
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

// An operator of the framework, on the host.
struct HostOp {
  Span span;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
  std::uint32_t external = kNone;
  std::uint32_t inputs = kNone;  // Trace::inputs
};

// One argument of an operator, as far as the profiler wrote it down: untrusted.
struct OpInput {
  std::vector<std::vector<std::int64_t>> shapes;  // one; of a list of tensors, all; empty: no tensor
  std::string type;                               // "c10::BFloat16"
  std::string value;                              // "[2, 2]", of what is no tensor; only of operators whose cost depends on it
};

struct Trace {
  std::optional<std::uint32_t> rank, ranks;  // of the job; none: not told
  std::string host;                          // empty: not told; untrusted, as are names and threads
  std::vector<std::string> names;
  std::vector<std::string> threads;
  std::vector<std::string> gpus;     // by device
  std::vector<std::uint32_t> units;  // multiprocessors, by device; 0: not told
  std::vector<GpuEvent> gpu;         // in the order of the file
  std::vector<RuntimeCall> calls;
  std::vector<Mark> steps;  // "ProfilerStep#7", in their order
  std::vector<Mark> marks;  // others
  std::vector<HostOp> ops;
  std::vector<std::vector<OpInput>> inputs;  // of an operator; each once
  std::vector<Launch> launches;
  std::vector<ExchangeAsk> exchanges;
  std::uint64_t events = 0;       // all there were
  std::uint64_t host_events = 0;  // of these, operators, marks and calls of the host, kept or not
  std::uint64_t damaged = 0;      // that could not be read
  std::uint64_t left_out = 0;     // operators and marks beyond what is kept
  bool cut = false;               // the file ends in the middle
};

}  // namespace muster
