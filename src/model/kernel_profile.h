// What Nsight Compute measured of single launches of kernels.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// Percentages are 0 to 100; what was not measured is none.
struct KernelMeasurement {
  std::string name;  // untrusted, printable
  std::optional<double> duration_ns;
  std::optional<double> sm_pct, memory_pct, dram_pct;  // throughput, of the peak
  std::optional<double> tensor_pct;                    // cycles in which the tensor pipe was busy
  std::optional<double> achieved_occupancy_pct, theoretical_occupancy_pct;
  std::optional<double> limit_registers, limit_shared, limit_blocks, limit_warps;  // blocks that fit on an SM by each
  std::optional<double> waves;
  std::optional<double> blocks, threads;  // of the grid, of a block
  std::optional<double> registers, shared_bytes;
  std::optional<double> l2_hit_pct;
  std::optional<double> dram_bytes_per_s;
  std::optional<double> sm_hz, sm_hz_max;  // while it ran; as the device says it can
  std::optional<double> sms;
  std::optional<double> capability;  // of the GPU: 7.0, 9.0
};

struct KernelProfile {
  std::vector<KernelMeasurement> launches;  // in the order of the file
  std::uint64_t skipped = 0;                // rows that are not of the table
};

}  // namespace muster
