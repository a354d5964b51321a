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
  nvlink_errors_total,  // counter: CRC, replay and recovery
  pcie_replay_total,    // counter
  pcie_width,           // lanes
  ib_link_downed_total, // counter; slot = the NIC of that GPU
  ib_up,                // 0 or 1; slot likewise
  inlet_temp_c,         // node: of the air it breathes
};
constexpr std::array<std::string_view, 21> names(Field) {
  return {"up", "boot_time_s", "gpus_visible", "gpu_temp_c", "memory_temp_c", "power_w", "sm_clock_mhz", "gpu_util_pct",
          "tensor_active", "thermal_violation_us", "ecc_sbe_total", "ecc_dbe_total", "remapped_rows", "remap_pending",
          "remap_failed", "nvlink_errors_total", "pcie_replay_total", "pcie_width", "ib_link_downed_total", "ib_up",
          "inlet_temp_c"};
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
enum class KernelKind : std::uint8_t { xid, off_bus, link_down, link_up, pcie_error };
constexpr std::array<std::string_view, 5> names(KernelKind) {
  return {"xid", "off_bus", "link_down", "link_up", "pcie_error"};
}

struct KernelRecord {
  Time at;  // utc
  NodeId node;
  std::int16_t slot = -1;      // -1: the address is not one of the node's GPUs or NICs
  KernelKind kind = KernelKind::xid;
  std::int32_t code = 0;       // Xid number
  std::uint64_t boot = 0;      // with seq: the record's identity
  std::uint64_t seq = 0;
  std::string text;            // untrusted
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
}

// A job's own word on how fast it steps (from its log or exporter).
struct StepReport {
  Time at;
  JobId job;
  std::uint32_t attempt = 0;
  std::uint64_t step = 0;
  double step_s = 0;  // mean since the last report
};

}  // namespace muster
