#include "decide/words.h"

namespace muster::decide {

std::string_view say(FindingKind k) {
  switch (k) {
    case FindingKind::gpu_lost: return "a lost GPU";
    case FindingKind::ecc_uncorrectable: return "an uncorrectable memory error";
    case FindingKind::row_remap_pending: return "a row remap that needs a reset";
    case FindingKind::row_remap_failed: return "a memory row that cannot be remapped";
    case FindingKind::nvlink_degraded: return "a failing NVLink";
    case FindingKind::pcie_degraded: return "a degraded PCIe link";
    case FindingKind::thermal_throttle: return "an overheating GPU";
    case FindingKind::link_flap: return "a flapping network link";
    case FindingKind::link_down: return "a dead network link";
    case FindingKind::gsp_timeout: return "a GPU whose firmware does not answer";
    case FindingKind::node_silent: return "a silent node";
    case FindingKind::host_rebooted: return "an unexpected reboot";
    case FindingKind::slow_gpu: return "a GPU suspected to be slow";
    case FindingKind::storage_stall: return "a stalled checkpoint store";
    case FindingKind::app_error: return "an error of the program itself";
    case FindingKind::job_failed: return "a failed job";
    case FindingKind::row_hot: return "a row of racks that grows hot";
    case FindingKind::gpu_fault: return "a GPU that needs a reset";
    case FindingKind::gpu_suspect: return "a GPU on which programs fail";
    case FindingKind::ecc_correctable: return "many corrected memory errors";
    case FindingKind::power_brake: return "a GPU slowed by its power supply";
    case FindingKind::clock_drop: return "a GPU below its clock";
    case FindingKind::ib_degraded: return "a failing network link";
    case FindingKind::driver_hang: return "a driver that does not answer";
    case FindingKind::nccl_hang: return "a hung collective";
    case FindingKind::version_drift: return "a version unlike its peers'";
    case FindingKind::failure_predicted: return "errors that foretell a failure";
    case FindingKind::host_fault: return "a fault of the host's memory or processors";
    case FindingKind::mount_stalled: return "a file system that does not answer";
    case FindingKind::common_cause: return "a common cause on many nodes";
    case FindingKind::sdc_suspected: return "a GPU that may compute wrongly";
    case FindingKind::xid_other: return "an Xid that asks for no act by itself";
    case FindingKind::engine_drained: return "a drain by the scheduler itself";
    case FindingKind::fabric_fault: return "a fault of the network";
    case FindingKind::acceptance_failed: return "a failed acceptance test";
    case FindingKind::hearsay: return "a fault that only a log file tells of";
  }
  return "trouble";
}

}  // namespace muster::decide
