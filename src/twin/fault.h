// Faults as the twin knows them: the truth that the controller has to find out.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/fields.h"

namespace muster::twin {

enum class FaultKind : std::uint8_t {
  gpu_off_bus,
  ecc_uncorrectable,
  row_remap,
  row_remap_failure,
  nvlink_degraded,
  pcie_degraded,
  thermal,
  gsp_hang,
  nic_flap,
  cable_down,
  node_hang,
  host_crash,
  slow_gpu,
  storage_stall,
  app_bug,  // not a fault of the cluster: a user's program misbehaves. Draining a node for it is a false alarm
  cooling_fault,  // a row's cooling unit does a part of its work, for hours; the slot is the row, no node is named
  driver_hang,    // calls into the driver of a node do not come back; what runs goes on
};
constexpr std::array<std::string_view, 17> names(FaultKind) {
  return {"gpu_off_bus", "ecc_uncorrectable", "row_remap", "row_remap_failure", "nvlink_degraded", "pcie_degraded", "thermal",
          "gsp_hang", "nic_flap", "cable_down", "node_hang", "host_crash", "slow_gpu", "storage_stall", "app_bug",
          "cooling_fault", "driver_hang"};
}

struct FaultRate {
  FaultKind kind = FaultKind::gpu_off_bus;
  double per_gpu_hour = 0;  // mean over the fleet
  std::string source;
};

// The rates of a file like data/fault_rates.csv. A row of a kind the twin does not know is refused with its line. The rate
// of app_bug is per hour of a running job, of storage_stall per GPU-hour of the site, of the others per GPU-hour of a node
// that runs.
Result<std::vector<FaultRate>> parse_rates(std::string_view csv, std::string_view where = "fault_rates.csv");

struct Weather {
  double factor = 1;         // --weather xN
  double lemon_share = 0.03; // of the nodes ...
  double lemon_factor = 12;  // ... that fail this much more often than the others
  std::vector<FaultRate> rates;
};

enum class Fate : std::uint8_t {
  active,
  cured,         // by an order that fits it
  self_cleared,  // it went away by itself
};
constexpr std::array<std::string_view, 3> names(Fate) { return {"active", "cured", "self_cleared"}; }

struct FaultTruth {
  std::uint64_t id = 0;
  FaultKind kind = FaultKind::gpu_off_bus;
  NodeId node;             // none: the site (storage_stall) or a row (cooling_fault)
  std::int16_t slot = -1;  // of a GPU, or the row
  JobId job;               // that it hit
  Time began;              // utc
  Time ended;              // utc; 0 while active
  Fate fate = Fate::active;
  bool injected_by_hand = false;
  bool shown = false;      // it has had an effect that can be seen: a hot or slow GPU has none before there is load
};

}  // namespace muster::twin
