// `nvidia-smi -q -x`: what the driver says of each GPU of a node, and what nvidia-smi says where it cannot. Layouts of drivers
// from 418 on are read; an element this file does not know is passed over.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "ingest/pci.h"
#include "model/sample.h"

namespace muster {

constexpr std::size_t kSmiGpusMax = 64;        // read; the rest is counted
constexpr std::size_t kSmiProcessesMax = 256;  // per GPU; the rest is counted
constexpr std::size_t kSmiMigMax = 16;         // per GPU; the rest is counted
constexpr std::size_t kSmiProblemsMax = 64;    // lines outside the XML; the rest is counted
constexpr std::size_t kSmiTextMax = 160;       // bytes of any text kept

// What holds the clocks down, bits of SmiGpu::clock_reasons. The same as NVML's.
enum ClockReason : std::uint32_t {
  kClockIdle = 0x1,
  kClockApplications = 0x2,
  kClockSwPowerCap = 0x4,
  kClockHwSlowdown = 0x8,
  kClockSyncBoost = 0x10,
  kClockSwThermal = 0x20,
  kClockHwThermal = 0x40,
  kClockHwPowerBrake = 0x80,
  kClockDisplay = 0x100,
};

// The driver's own verdict on what a GPU needs. Same numbers as Xid 154 and DCGM field 1523; unknown: words we do not know.
enum class RecoveryAction : std::uint8_t { none, reset, reboot, drain_p2p, drain_and_reset, recover_imex, unknown };
constexpr std::array<std::string_view, 7> names(RecoveryAction) {
  return {"none", "reset", "reboot", "drain_p2p", "drain_and_reset", "recover_imex", "unknown"};
}

struct SmiProcess {
  std::uint32_t pid = 0;
  std::string type;  // "C", "G", "C+G", "M+C"
  std::string name;  // untrusted, printable
  std::optional<double> memory_mib;
};

struct SmiMig {
  std::optional<double> index, gpu_instance, compute_instance, sram_uncorrected, memory_total_mib;
};

// An absent value: the GPU or the driver does not have it ("N/A", "Not Supported", a note of deprecation), or it could not be
// read.
struct SmiGpu {
  std::string product, serial, uuid, vbios, pci;  // pci as it is spelled: "00000000:1B:00.0"
  std::optional<double> minor, module_id;
  std::optional<RecoveryAction> recovery;
  std::optional<bool> reset_required, drain_and_reset_recommended;

  std::optional<double> temp_c, memory_temp_c;
  std::optional<double> shutdown_c, slowdown_c, max_operating_c, memory_max_c;         // as temperatures: up to Ampere
  std::optional<double> margin_c, shutdown_margin_c, slowdown_margin_c, max_margin_c;  // left to throttling: from Hopper on

  std::optional<double> graphics_mhz, sm_mhz, memory_mhz, sm_max_mhz, memory_max_mhz;
  std::optional<std::uint32_t> clock_reasons;  // ClockReason bits
  std::optional<double> sw_power_cap_us, hw_thermal_us, sw_thermal_us, hw_power_brake_us;

  std::optional<double> power_w, power_limit_w, power_limit_default_w, power_limit_max_w;
  std::optional<double> gpu_util_pct, memory_used_mib, memory_total_mib;

  std::optional<bool> ecc_on, ecc_pending;
  std::optional<double> sram_corrected, sram_uncorrected, dram_corrected, dram_uncorrected;  // since the driver was loaded
  std::optional<double> sram_corrected_ever, sram_uncorrected_ever, dram_corrected_ever, dram_uncorrected_ever;
  std::optional<bool> sram_threshold_exceeded, channel_repair_pending, tpc_repair_pending, unrepairable_memory;
  std::optional<double> remapped_corrected, remapped_uncorrected;  // rows
  std::optional<bool> remap_pending, remap_failed;
  std::optional<double> remap_banks_none_left;                   // banks without a spare row
  std::optional<double> retired_single_bit, retired_double_bit;  // pages: before Ampere
  std::optional<bool> retirement_pending;

  std::optional<double> pcie_gen, pcie_gen_max, pcie_gen_device_max, pcie_gen_host_max, pcie_width, pcie_width_max;
  std::optional<double> pcie_replays, pcie_replay_rollovers;

  std::string fabric_state, fabric_status;  // "Completed", "Success"; empty without NVSwitch
  std::optional<bool> mig_on, mig_pending;
  std::vector<SmiMig> mig;
  std::vector<SmiProcess> processes;

  std::uint32_t unreadable = 0;  // values the driver could not give: "ERR!", "Unknown Error", "GPU requires reset", "GPU is lost"
  std::string unreadable_text;   // the first of them
};

// What nvidia-smi says in plain words instead of, before or behind its XML.
enum class SmiProblemKind : std::uint8_t { no_driver, version_mismatch, no_devices, no_handle, inforom, other };
constexpr std::array<std::string_view, 6> names(SmiProblemKind) {
  return {"no_driver", "version_mismatch", "no_devices", "no_handle", "inforom", "other"};
}
struct SmiProblem {
  SmiProblemKind kind = SmiProblemKind::other;
  std::optional<PciAddress> pci;
  std::string text;
};

struct NvidiaSmi {
  std::string driver, cuda;
  std::optional<double> attached;  // GPUs, as nvidia-smi counts them
  std::vector<SmiGpu> gpus;
  std::vector<SmiProblem> problems;
  bool complete = false;             // the XML is there to its end
  std::string broken;                // why not: "line 12: ..."
  std::uint32_t not_understood = 0;  // values of elements we know, in a form we do not
  std::uint32_t left_out = 0;        // GPUs, processes, MIG devices, problems beyond their limits
};

// Never fails as a whole: output cut off in the middle gives the GPUs that are complete.
NvidiaSmi parse_nvidia_smi(std::string_view text);

// What the detectors understand of it, for GPUs whose address is one of the node's. Time and node are the reader's word.
void append_samples(const NvidiaSmi& smi, NodeId node, Time at, const Site& site, std::vector<Sample>& out);

}  // namespace muster
