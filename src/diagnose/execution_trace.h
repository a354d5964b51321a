// What can be said of a training step from its operators' shapes alone, before any clock has run: how much there is to compute,
// to move and to exchange, how much of it is in a row, and how long that would take at best. Where the trace has times (Chakra's
// may), also what takes them.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/operator_cost.h"
#include "model/execution_trace.h"

namespace muster::diagnose {

// Of the GPU in question; 0: not told, and then no times are.
struct Rates {
  double flops_per_s = 0;  // of matrix products, in the type they are done in
  double bytes_per_s = 0;  // of its memory
  double launch_s = 5e-6;  // what the host needs to start a kernel
  bool bf16 = false;       // it is known to multiply in BF16 and TF32, as GPUs from Ampere on do
};

struct OperatorSum {
  std::uint64_t operators = 0;
  double flops = 0, bytes = 0, seconds = 0;
};

struct ExchangeSum {
  std::string op, group, dtype;  // printable
  std::uint32_t ranks = 0;
  std::uint64_t calls = 0;
  double bytes = 0;    // of the input, all calls
  double seconds = 0;  // as the trace says; 0: it does not
};

struct Chain {
  std::uint64_t operators = 0;
  double flops = 0;  // of the chain that has most of it; likewise
  double seconds = 0;
};

// What the trace itself says of times. Of what runs on the GPU, and on the host only where nothing else has times.
struct TracedTimes {
  double compute_s = 0, memory_s = 0, exchange_s = 0, other_s = 0;  // one after the other
  double row_s = 0;           // of the longest row of nodes that wait for each other: it takes no less, whatever overlaps
  double row_exchange_s = 0;  // of that, in exchanges

  double sum_s() const { return compute_s + memory_s + exchange_s + other_s; }
};

struct ExecutionDiagnosis {
  std::uint64_t nodes = 0, steps = 0;  // steps: as the profiler marked them; 0: not marked
  std::uint64_t operators = 0;         // that do work on the GPU (on the host, where there is no GPU)
  std::uint64_t unknown = 0;           // leaves of the call tree whose cost is not known
  bool gpu = false;
  std::array<OperatorSum, 5> by_kind{};  // OperatorCost::Kind
  double flops = 0, bytes = 0;
  double seconds = 0;                     // one after the other, each as fast as the peaks allow
  double float_flops = 0;                 // of products whose operands are of 32 bits
  std::uint64_t small = 0;                // take less time than their launch
  std::uint64_t syncs = 0;                // values that the host waits for (aten::item)
  std::uint64_t optimizer_operators = 0;  // within Optimizer.step
  Chain chain;                            // longest of what waits for each other's results
  std::optional<TracedTimes> traced;      // none: it has no times
  std::vector<ExchangeSum> exchanges;     // the largest first
  std::vector<Finding> findings;
};

ExecutionDiagnosis diagnose_execution(const ExecutionTrace& trace, const Rates& peaks);

}  // namespace muster::diagnose
