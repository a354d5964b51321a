// The series that Muster's detectors understand, by name: those of dcgm-exporter before and since DCGM 4.6, of node_exporter, of
// NCCL Inspector, and of Muster's own agent.
#pragma once
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "model/sample.h"

namespace muster {

enum class Entity : std::uint8_t { node, gpu, nic, pci };

struct Series {
  std::string_view name;
  Field field;
  Entity entity;
  double min;
  double max;
};

constexpr double kCounterMax = 9.2e18;
constexpr double kXidMax = 999;  // the highest there is: 176

// Names before and since DCGM 4.6 (the field ids are the same), then node_exporter's.
constexpr Series kSeries[] = {
    {"DCGM_FI_DEV_GPU_TEMP", Field::gpu_temp_c, Entity::gpu, -50, 250},
    {"DCGM_FI_DEV_GPU_TEMP_CELSIUS", Field::gpu_temp_c, Entity::gpu, -50, 250},
    {"DCGM_FI_DEV_MEMORY_TEMP", Field::memory_temp_c, Entity::gpu, -50, 250},
    {"DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", Field::memory_temp_c, Entity::gpu, -50, 250},
    {"DCGM_FI_DEV_POWER_USAGE", Field::power_w, Entity::gpu, 0, 20000},
    {"DCGM_FI_DEV_BOARD_POWER_WATTS", Field::power_w, Entity::gpu, 0, 20000},
    {"DCGM_FI_DEV_SM_CLOCK", Field::sm_clock_mhz, Entity::gpu, 0, 20000},
    {"DCGM_FI_DEV_GPU_UTIL", Field::gpu_util_pct, Entity::gpu, 0, 100},
    {"DCGM_FI_DEV_GPU_UTIL_RATIO", Field::gpu_util_pct, Entity::gpu, 0, 100},  // still percent: only the name changed
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", Field::tensor_active, Entity::gpu, 0, 1},
    {"DCGM_FI_PROF_TENSOR_UTIL_RATIO", Field::tensor_active, Entity::gpu, 0, 1},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", Field::thermal_violation_us, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", Field::ecc_sbe_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", Field::ecc_dbe_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", Field::remapped_rows, Entity::gpu, 0, 1e6},
    {"DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", Field::remapped_rows, Entity::gpu, 0, 1e6},
    {"DCGM_FI_DEV_ROW_REMAP_PENDING", Field::remap_pending, Entity::gpu, 0, 1},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", Field::remap_failed, Entity::gpu, 0, 1},
    {"DCGM_FI_DEV_ROW_REMAP_FAILED", Field::remap_failed, Entity::gpu, 0, 1},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    // NVLink 5 counts otherwise. Symbol errors and their rate are not read: its error correction is made for them, and mends
    // thousands a second on a sound link. Nor are errors that the other end marked (RX_REMOTE_ERRORS): they are counted there.
    {"DCGM_FI_DEV_NVLINK_COUNT_RX_MALFORMED_PACKET_ERRORS", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_RX_PACKET_MALFORMED_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_COUNT_RX_BUFFER_OVERRUN_ERRORS", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_RX_PACKET_DROPPED_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_COUNT_RX_ERRORS", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_RX_ERROR_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_INTEGRITY_ERROR_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_EVENT_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_EFFECTIVE_ERROR_TOTAL", Field::nvlink_errors_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS", Field::nvlink_failures_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_FAILED_TOTAL", Field::nvlink_failures_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_PPCNT_PHYSICAL_LINK_DOWN_COUNTER", Field::nvlink_failures_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_NVLINK_PPCNT_PHYSICAL_LINK_DOWN_TOTAL", Field::nvlink_failures_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS", Field::pcie_corrected_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_PCIE_CORRECTABLE_ERROR_TOTAL", Field::pcie_corrected_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_XID_ERRORS", Field::xid_last, Entity::gpu, 0, kXidMax},
    {"DCGM_FI_DEV_XID_ERROR", Field::xid_last, Entity::gpu, 0, kXidMax},
    {"DCGM_EXP_XID_ERRORS_COUNT", Field::xid_count, Entity::gpu, 0, kCounterMax},  // which Xid is in a label
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", Field::pcie_replay_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_PCIE_REPLAY_TOTAL", Field::pcie_replay_total, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", Field::pcie_width, Entity::gpu, 0, 32},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", Field::clock_reasons, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Field::clock_reasons, Entity::gpu, 0, kCounterMax},
    {"DCGM_FI_DEV_PCIE_LINK_GEN", Field::pcie_gen, Entity::gpu, 0, 16},
    {"DCGM_FI_DEV_THRESHOLD_SRM", Field::sram_exceeded, Entity::gpu, 0, 1},
    {"DCGM_FI_DEV_SRAM_EXCEEDED", Field::sram_exceeded, Entity::gpu, 0, 1},
    {"DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", Field::recovery_action, Entity::gpu, 0, 15},
    {"DCGM_FI_DEV_GPU_RECOVERY_ACTION", Field::recovery_action, Entity::gpu, 0, 15},
    {"node_boot_time_seconds", Field::boot_time_s, Entity::node, 0, 1e11},
    {"node_infiniband_link_downed_total", Field::ib_link_downed_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_state_id", Field::ib_up, Entity::nic, 0, 255},
    {"node_infiniband_symbol_error_total", Field::ib_symbol_errors_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_link_error_recovery_total", Field::ib_recoveries_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_port_errors_received_total", Field::ib_receive_errors_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_local_link_integrity_errors_total", Field::ib_integrity_errors_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_excessive_buffer_overrun_errors_total", Field::ib_overrun_errors_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_port_discards_transmitted_total", Field::ib_discards_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_local_ack_timeout_errors_total", Field::ib_ack_timeouts_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_rnr_nak_retry_packets_received_total", Field::ib_rnr_retries_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_roce_slow_restart_total", Field::ib_slow_restarts_total, Entity::nic, 0, kCounterMax},
    {"node_infiniband_rate_bytes_per_second", Field::ib_rate_bytes, Entity::nic, 0, 1e13},
    {"node_infiniband_info", Field::nic_firmware, Entity::nic, 0, 1},  // the version is in a label
    {"node_pcidevice_current_link_width", Field::pcie_width, Entity::pci, 0, 32},
    {"node_pcidevice_current_link_transfers_per_second", Field::pcie_gen, Entity::pci, 0, 1e13},  // see keep()
    {"node_edac_uncorrectable_errors_total", Field::host_uncorrected_total, Entity::node, 0, kCounterMax},
    {"nccl_collective_exec_time_microseconds", Field::collective_us, Entity::gpu, 0, 1e12},  // NCCL Inspector's, by node_exporter
    {"muster_probe_hung", Field::driver_answers, Entity::node, 0, 1},                        // turned round in keep()
    {"ipmi_temperature_celsius", Field::inlet_temp_c, Entity::node, -50, 150},  // ipmi_exporter: of one sensor, see keep()
};
constexpr std::size_t kSeriesCount = std::size(kSeries);

// A table small enough to stay in cache, without a collision for the names above: found at compile time.
constexpr std::size_t kSlots = 4096;

constexpr std::uint32_t mix(std::string_view s, std::uint32_t seed) {
  const std::size_t n = s.size();  // at least 17 for every known name
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(s[i])); };
  std::uint32_t h = seed ^ static_cast<std::uint32_t>(n);
  for (const std::size_t i : {n / 4, n / 3, n / 2, n / 2 + 2, 2 * n / 3, n - 3, n - 7, n - 8, n - 11})
    h = (h ^ at(i)) * 0x01000193u;
  return (h ^ (h >> 15)) % kSlots;
}

struct Table {
  std::uint32_t seed = 0;
  std::array<std::uint8_t, kSlots> slot{};  // index into kSeries plus one
};

constexpr Table make_table() {
  for (std::uint32_t seed = 1; seed < 400; ++seed) {
    Table t{seed, {}};
    bool clash = false;
    for (std::size_t i = 0; i < kSeriesCount && !clash; ++i) {
      auto& cell = t.slot[mix(kSeries[i].name, seed)];
      clash = cell != 0;
      cell = static_cast<std::uint8_t>(i + 1);
    }
    if (!clash) return t;
  }
  return {};
}
constexpr Table kTable = make_table();
static_assert(kTable.seed != 0, "no seed without a collision: enlarge kSlots");

inline const Series* find_series(std::string_view name) {
  if (name.size() < 17) return nullptr;
  const std::uint8_t i = kTable.slot[mix(name, kTable.seed)];
  return i != 0 && kSeries[i - 1].name == name ? &kSeries[i - 1] : nullptr;
}

}  // namespace muster
