// What holds single kernels back, from what Nsight Compute measured of them.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "model/kernel_profile.h"

namespace muster::diagnose {

enum class KernelBound : std::uint8_t {
  unknown,
  compute,  // the SMs are busy
  memory,   // the memory is
  latency,  // neither: they wait for each other
  fill,     // there are too few blocks to occupy the GPU
};
constexpr std::array<std::string_view, 5> names(KernelBound) { return {"unknown", "compute", "memory", "latency", "fill"}; }

// All launches of one name; percentages are means weighed by time.
struct KernelVerdict {
  std::string name;
  std::uint64_t launches = 0;
  double time_ns = 0;
  double share_pct = 0;  // of all that was profiled
  std::optional<double> sm_pct, memory_pct, dram_pct, tensor_pct, l2_hit_pct, achieved_occupancy_pct, theoretical_occupancy_pct;
  std::optional<double> waves, blocks, sms;
  std::optional<double> tail_pct;  // of the time, lost in the last wave, where a full one was before it
  std::optional<double> sm_hz, sm_hz_max;
  std::optional<double> capability, registers;  // of the GPU: 9.0; of a thread
  // Of occupancy: "registers", "shared memory", "blocks", "warps"; empty: not told, and not to be worked out.
  std::string limiter;
  KernelBound bound = KernelBound::unknown;
};

struct KernelDiagnosis {
  std::vector<KernelVerdict> kernels;  // the longest first
  double time_ns = 0;
  // Their cost is of what was profiled. They have no gain, which is of a step: their evidence says what of the kernel's own time
  // there is to gain.
  std::vector<Finding> findings;
};

KernelDiagnosis diagnose_kernels(const KernelProfile& profile);

}  // namespace muster::diagnose
