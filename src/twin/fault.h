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
  driver_hang,    // calls into the driver of a node do not come back; what runs goes on
  cooling_fault,  // a row's cooling unit does a part of its work, for hours; the slot is the row, no node is named
  bad_push,        // from here on disasters, never of the weather: a driver that hangs GPUs is installed on a share of the nodes
  switch_failure,  // all links to a leaf switch are down; the slot is the leaf
  pdu_loss,        // a rack has no power; the slot is the rack
  engine_away,     // the scheduler answers nothing, takes no orders and tells nothing until it is back; nodes and jobs go on
  clock_jump,      // the controller's wall clock is set wrong
  event_storm,     // every link of the site goes down for seconds, one after the other, as often as asked for
};
constexpr std::array<std::string_view, 23> names(FaultKind) {
  return {"gpu_off_bus", "ecc_uncorrectable", "row_remap", "row_remap_failure", "nvlink_degraded", "pcie_degraded", "thermal",
          "gsp_hang", "nic_flap", "cable_down", "node_hang", "host_crash", "slow_gpu", "storage_stall", "app_bug",
          "driver_hang", "cooling_fault", "bad_push", "switch_failure", "pdu_loss", "engine_away", "clock_jump", "event_storm"};
}

// Strikes the site or a part of it that has many nodes, not one node.
constexpr bool of_site(FaultKind k) { return k == FaultKind::storage_stall || k >= FaultKind::cooling_fault; }
// Of those, what strikes the part that a node belongs to: its row, its leaf, its rack.
constexpr bool needs_node(FaultKind k) {
  return !of_site(k) || k == FaultKind::cooling_fault || k == FaultKind::switch_failure || k == FaultKind::pdu_loss;
}

// What is to break, by hand. What is left at its default is the kind's own.
struct Stroke {
  FaultKind kind = FaultKind::gpu_off_bus;
  NodeId node;          // of cooling_fault, switch_failure, pdu_loss: one of the row, leaf or rack
  int slot = -1;        // chosen by the twin
  Duration lasts;       // of a disaster or a stall: until somebody mends it
  double share = 0.3;   // bad_push: of the nodes
  Duration by = days(1);           // clock_jump: forward; less than zero: back
  std::uint32_t count = 100'000;   // event_storm: links that go down
};

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
  NodeId node;             // none: the site, or a row, a leaf, a rack
  std::int16_t slot = -1;  // of a GPU; or the row, leaf, rack
  JobId job;               // that it hit
  Time began;              // utc
  Time ended;              // utc; 0 while active
  Fate fate = Fate::active;
  bool injected_by_hand = false;
  bool shown = false;      // it has had an effect that can be seen: a hot or slow GPU has none before there is load
};

}  // namespace muster::twin
