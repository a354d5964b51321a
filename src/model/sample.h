// What is observed but not journaled: metric samples, kernel records, step reports. Detectors turn them into findings.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "model/fields.h"

namespace muster {

// The series Muster's detectors understand, in our own units whatever the exporter calls them.
enum class Field : std::uint8_t {
  up,                   // node: 1 the exporter answered, 0 it did not (the scraper's own word)
  boot_time_s,          // node: unix time of boot
  gpus_visible,         // node: bit mask of the slots that appear in the scrape
  gpu_temp_c,           // slot, from here on
  memory_temp_c,
  power_w,
  sm_clock_mhz,
  gpu_util_pct,
  tensor_active,        // 0 to 1
  thermal_violation_us, // counter
  ecc_sbe_total,        // counter
  ecc_dbe_total,        // counter
  remapped_rows,        // counter, uncorrectable
  remap_pending,        // 0 or 1
  remap_failed,         // 0 or 1
  nvlink_errors_total,  // counter: CRC, replay and recovery; NVLink 5: what its error correction did not mend
  pcie_replay_total,    // counter
  pcie_width,           // lanes
  ib_link_downed_total, // counter; slot = the NIC of that GPU
  ib_up,                // 0 or 1; slot likewise
  inlet_temp_c,         // node: of the air it breathes
  clock_reasons,        // slot, from here on: bit set of NVML's clock event reasons
  pcie_gen,             // generation the link runs at; low when idle
  sram_exceeded,        // 0 or 1: uncorrectable errors of the on-chip memory beyond the maker's limit
  recovery_action,      // the driver's verdict, 0 (none) to 5, as in Xid 154
  driver_version,       // as a number, see render_version
  ib_symbol_errors_total,      // counter; slot = the NIC of that GPU, from here on
  ib_recoveries_total,         // counter: the link retrained
  ib_receive_errors_total,     // counter
  ib_integrity_errors_total,   // counter
  ib_overrun_errors_total,     // counter
  ib_discards_total,           // counter: packets not sent
  ib_ack_timeouts_total,       // counter
  ib_rnr_retries_total,        // counter
  ib_slow_restarts_total,      // counter
  ib_rate_bytes,               // bytes a second that the link is trained to
  nic_firmware,                // as a number, see render_version
  driver_answers,              // node: 1 a question to the driver was answered in time, 0 it was not
  host_uncorrected_total,      // node, counter: memory errors of the host that were not corrected
  xid_last,                    // slot: the last Xid the management library told of; 0: none. Stays until another comes
  xid_count,                   // slot: how often one Xid came within the exporter's window, see xid_count_value
  nvlink_failures_total,       // slot, counter: links that went down, recoveries that failed
  pcie_corrected_total,        // slot, counter: errors of the PCIe link that were corrected
  collective_us,               // slot: a collective's mean time there, added up over all that its job does
};
constexpr std::array<std::string_view, 44> names(Field) {
  return {"up", "boot_time_s", "gpus_visible", "gpu_temp_c", "memory_temp_c", "power_w", "sm_clock_mhz", "gpu_util_pct",
          "tensor_active", "thermal_violation_us", "ecc_sbe_total", "ecc_dbe_total", "remapped_rows", "remap_pending",
          "remap_failed", "nvlink_errors_total", "pcie_replay_total", "pcie_width", "ib_link_downed_total", "ib_up",
          "inlet_temp_c", "clock_reasons", "pcie_gen", "sram_exceeded", "recovery_action", "driver_version",
          "ib_symbol_errors_total", "ib_recoveries_total", "ib_receive_errors_total", "ib_integrity_errors_total",
          "ib_overrun_errors_total", "ib_discards_total", "ib_ack_timeouts_total", "ib_rnr_retries_total",
          "ib_slow_restarts_total", "ib_rate_bytes", "nic_firmware", "driver_answers", "host_uncorrected_total",
          "xid_last", "xid_count", "nvlink_failures_total", "pcie_corrected_total", "collective_us"};
}
constexpr std::size_t kFields = names(Field{}).size();

struct Sample {
  Time at;  // utc of the measurement
  NodeId node;
  std::int16_t slot = -1;  // -1: the node itself
  Field field = Field::up;
  double value = 0;
};

// A kernel record that matched the grammar of something Muster knows. Anything else never gets this far.
enum class KernelKind : std::uint8_t {
  xid,
  off_bus,
  link_down,
  link_up,
  pcie_error,
  sxid,         // of an NVSwitch of the node; `fatal` says which
  gpu_init,     // the driver could not start the GPU
  gsp_dead,     // the GPU's own processor stopped, told without an Xid
  nic_fault,    // the NIC's firmware or power failed
  host_memory,  // an error of the host's memory or processors that was not corrected
};
constexpr std::array<std::string_view, 10> names(KernelKind) {
  return {"xid", "off_bus", "link_down", "link_up", "pcie_error", "sxid", "gpu_init", "gsp_dead", "nic_fault", "host_memory"};
}

struct KernelRecord {
  Time at;  // utc
  NodeId node;
  std::int16_t slot = -1;      // -1: the address is not one of the node's GPUs or NICs
  KernelKind kind = KernelKind::xid;
  std::int32_t code = 0;       // Xid or SXid number
  std::uint64_t boot = 0;      // with seq: the record's identity
  std::uint64_t seq = 0;
  std::string text;            // untrusted
  std::int32_t caused_by = 0;  // Xid 45: the Xid that the driver blames
  std::int32_t verdict = -1;   // Xid 154: what the driver wants now, 0 (nothing) to 5
  bool fatal = false;          // the record itself says Fatal
};

template <class V>
void fields(V& v, KernelRecord& r) {
  v("at", r.at);
  v("node", r.node);
  v("slot", r.slot);
  v("kind", r.kind);
  v("code", r.code);
  v("boot", r.boot);
  v("seq", r.seq);
  v("text", r.text);
  v("caused_by", r.caused_by);
  v("verdict", r.verdict);
  v("fatal", r.fatal);
}

// What a job's own log says of its communication. Written by the job: never enough to act on alone.
enum class JobLogKind : std::uint8_t {
  timed_out,        // a collective did not end in time
  standing,         // how far a rank had come then
  heartbeat_lost,
  transfer_failed,
  port_error,
  port_active,
  mismatch,         // ranks do not do the same: a defect of the program
  rank_dead,        // a rank does not answer any more, as NCCL's own watch says
  rank_behind,      // a rank stays behind the others, likewise
  not_a_number,     // a rank's loss or gradient is no number: the data, the program, or the GPU
  not_repeatable,   // the same step computed again gave another result, or replicas of the same weights differ
};
constexpr std::array<std::string_view, 11> names(JobLogKind) {
  return {"timed_out", "standing", "heartbeat_lost", "transfer_failed", "port_error", "port_active", "mismatch", "rank_dead",
          "rank_behind", "not_a_number", "not_repeatable"};
}
struct JobLogRecord {
  Time at;
  JobId job;
  NodeId node;             // none: the line does not say
  std::int16_t slot = -1;  // of the NIC named
  JobLogKind kind = JobLogKind::timed_out;
  int rank = -1;           // of the whole job
  std::string text;        // untrusted
  std::int16_t gpu = -1;   // CUDA device that the line names: among the job's own GPUs of `node`
  std::int64_t seq = -1;   // of the collective: timed out, or (standing) last enqueued
  std::string label;       // what its engine calls the job, for when the state does not know it; untrusted
};

// Versions travel as numbers: 580.159.04 is 580 * 1e8 + 159 * 1e5 + 4.
constexpr double version_number(double major, double minor, double patch) { return major * 1e8 + minor * 1e5 + patch; }

// A code and its count travel as one number as well: 3 times Xid 79 is 79 * 1e6 + 3.
constexpr double kXidCountMax = 999'999;
constexpr double xid_count_value(double code, double count) { return code * 1e6 + (count < kXidCountMax ? count : kXidCountMax); }

// A job's own word on how fast it steps (from its log or exporter).
struct StepReport {
  Time at;
  JobId job;
  std::uint32_t attempt = 0;
  std::uint64_t step = 0;
  double step_s = 0;  // mean since the last report
};

// A watch of a network has spoken, whatever it said.
struct FabricHeard {
  std::string name;  // of the network; empty: it has none
  Duration every;    // how often it reads the network; 0: nobody is to wait for its next word
};

}  // namespace muster
