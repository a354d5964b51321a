// amd-smi's JSON (`amd-smi metric --json`, `amd-smi static --json`, `amd-smi bad-pages --json`), as ROCm 6 (a list) and ROCm 7 (a
// list in "gpu_data") print it. Written from published outputs; no AMD GPU was at hand.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

constexpr std::size_t kAmdBytesMax = 16U << 20;
constexpr std::size_t kAmdGpusMax = 64;   // read; the rest is counted
constexpr std::size_t kAmdTextMax = 160;  // bytes of text kept

// An absent value: "N/A" or not in this output. All three outputs give parts of it.
struct AmdGpu {
  std::int64_t gpu = -1;  // amd-smi's index
  std::string name, serial, bdf, vbios, driver;
  std::optional<double> edge_c, hotspot_c, memory_c, slowdown_hotspot_c, shutdown_hotspot_c;
  std::optional<double> power_w, power_limit_w, gfx_pct, gfx_mhz;
  std::optional<double> corrected, uncorrected, deferred;  // ECC, all blocks
  std::optional<double> pcie_width, pcie_width_max, pcie_gts, pcie_gts_max, pcie_replays, pcie_recoveries;
  std::optional<double> memory_used_mb, memory_total_mb;
  std::optional<double> pages_retired, pages_pending, pages_unreservable;
};

struct AmdSmi {
  std::vector<AmdGpu> gpus;
  std::uint32_t not_understood = 0;  // values of members we know, in a form we do not
  std::uint32_t left_out = 0;
};

Result<AmdSmi> parse_amd_smi(std::string_view text);

}  // namespace muster
