#include "scrape_payload.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"

namespace muster::cmd {
namespace {

// A gauge moves within [low, low + spread]; a counter has the value `low` in each round.
struct Shape {
  std::string_view name;
  double low = 0;
  double spread = 0;
  int decimals = 0;
};

constexpr Shape kDefaults[] = {
    {"DCGM_FI_DEV_SM_CLOCK", 1965, 15, 0},
    {"DCGM_FI_DEV_MEM_CLOCK", 3201, 0, 0},
    {"DCGM_FI_DEV_MEMORY_TEMP", 52, 6, 0},
    {"DCGM_FI_DEV_GPU_TEMP", 48, 6, 0},
    {"DCGM_FI_DEV_POWER_USAGE", 610, 60, 3},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 123456789012, 0, 0},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", 0, 0, 0},
    {"DCGM_FI_DEV_GPU_UTIL", 98, 2, 0},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", 40, 20, 0},
    {"DCGM_FI_DEV_ENC_UTIL", 0, 0, 0},
    {"DCGM_FI_DEV_DEC_UTIL", 0, 0, 0},
    {"DCGM_FI_DEV_XID_ERRORS", 0, 0, 0},
    {"DCGM_FI_DEV_FB_FREE", 11000, 900, 0},
    {"DCGM_FI_DEV_FB_USED", 131000, 900, 0},
    {"DCGM_FI_DEV_FB_RESERVED", 616, 0, 0},
    {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", 412345, 90000, 0},
    {"DCGM_FI_DEV_VGPU_LICENSE_STATUS", 0, 0, 0},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", 0, 0, 0},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", 0, 0, 0},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", 0, 0, 0},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.95, 0.04, 6},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.55, 0.05, 6},
    {"DCGM_FI_PROF_DRAM_ACTIVE", 0.42, 0.05, 6},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", 4123456789, 500000000, 0},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", 5123456789, 500000000, 0},
};
static_assert(std::size(kDefaults) == kDefaultSeries);

constexpr Shape kMore[] = {
    {"DCGM_FI_DEV_THERMAL_VIOLATION", 0, 0, 0},
    {"DCGM_FI_DEV_POWER_VIOLATION", 0, 0, 0},
    {"DCGM_FI_DEV_SYNC_BOOST_VIOLATION", 0, 0, 0},
    {"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", 0, 0, 0},
    {"DCGM_FI_DEV_LOW_UTIL_VIOLATION", 0, 0, 0},
    {"DCGM_FI_DEV_RELIABILITY_VIOLATION", 0, 0, 0},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 0, 0, 0},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", 0, 0, 0},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0, 0, 0},
    {"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", 3, 0, 0},
    {"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", 0, 0, 0},
    {"DCGM_FI_DEV_ROW_REMAP_PENDING", 0, 0, 0},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", 0, 0, 0},
    {"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", 0, 0, 0},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", 0, 0, 0},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", 0, 0, 0},
    {"DCGM_FI_DEV_PCIE_LINK_GEN", 5, 0, 0},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", 16, 0, 0},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_GEN", 5, 0, 0},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", 16, 0, 0},
    {"DCGM_FI_PROF_SM_ACTIVE", 0.9, 0.05, 6},
    {"DCGM_FI_PROF_SM_OCCUPANCY", 0.4, 0.05, 6},
    {"DCGM_FI_PROF_PIPE_FP64_ACTIVE", 0, 0, 6},
    {"DCGM_FI_PROF_PIPE_FP32_ACTIVE", 0.05, 0.01, 6},
    {"DCGM_FI_PROF_PIPE_FP16_ACTIVE", 0.02, 0.01, 6},
    {"DCGM_FI_PROF_NVLINK_TX_BYTES", 91234567890, 900000000, 0},
    {"DCGM_FI_PROF_NVLINK_RX_BYTES", 91234567890, 900000000, 0},
    {"DCGM_FI_DEV_GPU_NVLINK_ERRORS", 0, 0, 0},
};
constexpr int kLanes = 18;
constexpr std::string_view kPerLane[] = {"DCGM_FI_DEV_NVLINK_BANDWIDTH_L", "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L",
                                         "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L", "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L"};
static_assert(std::size(kDefaults) + std::size(kMore) + kLanes * std::size(kPerLane) == kFullSeries);

const std::vector<std::pair<std::string, Shape>>& shapes() {
  static const auto all = [] {
    std::vector<std::pair<std::string, Shape>> v;
    for (const Shape& s : kDefaults) v.emplace_back(s.name, s);
    for (const Shape& s : kMore) v.emplace_back(s.name, s);
    for (const std::string_view name : kPerLane) {
      const bool busy = name == kPerLane[0];
      for (int lane = 0; lane < kLanes; ++lane)
        v.emplace_back(fmt::format("{}{}", name, lane), Shape{{}, busy ? 22000.0 : 0.0, busy ? 5000.0 : 0.0, 0});
    }
    return v;
  }();
  return all;
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::vector<std::string> labels_of(const Site& site, NodeId node) {
  std::vector<std::string> all;
  for (std::uint32_t g = 0; g < site.gpus_per_node; ++g) {
    const std::uint64_t id = mix(node.v * 16ULL + g + 1);
    std::string pci = site.gpu_pci[g];
    std::transform(pci.begin(), pci.end(), pci.begin(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
    all.push_back(fmt::format(
        "{{gpu=\"{0}\",UUID=\"GPU-{1:08x}-{2:04x}-{3:04x}-{4:04x}-{5:012x}\",pci_bus_id=\"0000{6}.0\",device=\"nvidia{0}\","
        "modelName=\"NVIDIA {7}\",Hostname=\"{8}\",DCGM_FI_DRIVER_VERSION=\"580.159.04\"}} ",
        g, id >> 32, id >> 16 & 0xffff, id & 0xffff, mix(id) >> 48, mix(id) & 0xffff'ffff'ffff, pci, site.gpu_model,
        site.nodes[node.v].name));
  }
  return all;
}

}  // namespace

std::string render_payload(const Site& site, NodeId node, std::uint32_t series, std::uint64_t round) {
  MUSTER_CHECK(series <= kFullSeries && node.v < site.nodes.size());
  const auto labels = labels_of(site, node);
  std::string out;
  out.reserve(series * (120 + labels.size() * 260UL));
  for (std::uint32_t i = 0; i < series; ++i) {
    const auto& [name, shape] = shapes()[i];
    fmt::format_to(std::back_inserter(out), "# HELP {} As the exporter's counters file words it.\n# TYPE {} gauge\n", name, name);
    for (std::size_t g = 0; g < labels.size(); ++g) {
      const std::uint64_t draw = mix(((node.v * 16ULL + g) * 131 + i) * 1'000'003 + round);
      const double v = shape.low + shape.spread * (static_cast<double>(draw >> 40) / (1 << 24));
      out += name;
      out += labels[g];
      if (shape.decimals == 0) {
        fmt::format_to(std::back_inserter(out), "{}\n", static_cast<std::uint64_t>(v));
      } else {
        fmt::format_to(std::back_inserter(out), "{:.{}f}\n", v, shape.decimals);
      }
    }
  }
  return out;
}

}  // namespace muster::cmd
