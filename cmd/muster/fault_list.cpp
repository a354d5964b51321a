#include "fault_list.h"

#include "base/json_writer.h"
#include "twin/fault.h"

namespace muster::cmd {
namespace {

std::string_view strikes(twin::FaultKind kind) {
  using K = twin::FaultKind;
  switch (kind) {
    case K::gpu_off_bus:
    case K::ecc_uncorrectable:
    case K::row_remap:
    case K::row_remap_failure:
    case K::nvlink_degraded:
    case K::pcie_degraded:
    case K::thermal:
    case K::gsp_hang:
    case K::slow_gpu: return "gpu";
    case K::nic_flap:
    case K::cable_down: return "link";
    case K::node_hang:
    case K::host_crash:
    case K::app_bug:
    case K::driver_hang: return "node";
    case K::cooling_fault: return "row";
    case K::switch_failure: return "leaf";
    case K::pdu_loss: return "rack";
    case K::storage_stall:
    case K::bad_push:
    case K::engine_away:
    case K::clock_jump:
    case K::event_storm: return "site";
  }
  return "site";
}

}  // namespace

bool asks_for_faults(const Value& input) { return input.object() != nullptr && input.object()->empty(); }

std::string fault_list() {
  JsonWriter w;
  w.object().key("faults").array();
  for (std::size_t i = 0; i < names(twin::FaultKind{}).size(); ++i) {
    const auto kind = static_cast<twin::FaultKind>(i);
    w.object().field("name", names(twin::FaultKind{})[i]).field("strikes", strikes(kind));
    w.field("needs_node", twin::needs_node(kind)).end_object();
  }
  w.end_array().end_object();
  return w.take();
}

}  // namespace muster::cmd
