// What kernels had to compute and to move, by the shapes of their operators, and how near they came to what the GPU can do.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/operator_cost.h"
#include "diagnose/timeline.h"
#include "model/gpu_model.h"
#include "model/timing.h"

namespace muster::diagnose {

// What programs get of a GPU at best. All 0: it is not known.
struct Peaks {
  std::string gpu;                               // GpuModel::name
  double fp32 = 0, tf32 = 0, bf16 = 0, fp8 = 0;  // operations a second, of large products
  double bytes_per_s = 0;
  double host_bytes_per_s = 0;  // from and to pinned memory of the host
  bool measured = false;        // on such a GPU; else by its data sheet

  bool known() const { return bytes_per_s > 0; }
};
// `timings` of such a GPU, or none.
Peaks peaks_of(const GpuModel& gpu, std::span<const Timing> timings);

enum class KernelKind : std::uint8_t { product, attention, convolution, stream, optimizer, unknown };
constexpr std::array<std::string_view, 6> names(KernelKind) {
  return {"product", "attention", "convolution", "stream", "optimizer", "unknown"};
}
KernelKind kernel_kind(std::string_view kernel);
// In 32 bits without tensor cores.
bool is_plain_fp32(std::string_view kernel);

enum class Limit : std::uint8_t { compute, memory, size };  // size: too small to fill the GPU
constexpr std::array<std::string_view, 3> names(Limit) { return {"compute", "memory", "size"}; }

// Kernels of one operator with inputs alike, or of one name where the operator is not known.
struct KernelClass {
  std::string name;  // "aten::mm [8192, 4096] x [4096, 4096]", or the kernel's; printable
  KernelKind kind = KernelKind::stream;
  std::uint32_t kernel = kNone;  // Trace::names of the one that takes the most of it
  std::uint32_t op = kNone, inputs = kNone;
  std::uint64_t count = 0;      // operators, or kernels
  std::int64_t own_ns = 0;      // within the steps
  double flops = 0, bytes = 0;  // of all of them; 0: shapes do not tell
  double least_s = 0;           // that the GPU needs for them; 0: not known
  Limit limit = Limit::memory;
  const Launch* launch = nullptr;  // of that kernel; null: not told
  std::uint32_t example = 0;       // Timeline::events

  // Of what the GPU can do, by what limits them; 0: not known.
  double share_of_peak() const { return own_ns > 0 ? least_s * 1e9 / static_cast<double>(own_ns) : 0; }
};

struct Physics {
  std::vector<KernelClass> classes;            // those that take most first
  std::vector<std::uint32_t> of_event;         // by Timeline::events; none: no kernel
  std::int64_t compute_ns = 0, memory_ns = 0;  // of what counts as the kernels' own
  std::int64_t unknown_ns = 0;                 // of compute_ns, what neither shapes nor names tell of
  std::uint32_t units = 0;                     // multiprocessors; 0: not told
};

Physics physics(const Trace& trace, const Timeline& line, const Peaks& peaks);

}  // namespace muster::diagnose
