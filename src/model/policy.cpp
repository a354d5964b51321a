#include "model/policy.h"

namespace muster {

Policy default_policy() {
  using enum Verb;
  using K = FindingKind;
  Policy p;
  p.requeue_after = seconds(20);  // a rank that is to exit has done so within 16 s; who hangs longer hangs until the time-out
  p.ladders = {
      {K::gpu_lost, true, JobCare::requeue, false, {reboot_node, power_cycle_node, replace_node}},
      {K::ecc_uncorrectable, true, JobCare::requeue, false, {reset_gpu, reboot_node, replace_node}},
      {K::row_remap_pending, true, JobCare::wait, false, {reset_gpu, reboot_node, replace_node}},
      {K::row_remap_failed, true, JobCare::wait, false, {replace_node}},
      {K::nvlink_degraded, true, JobCare::wait, false, {reset_gpu, reboot_node, replace_node}},
      {K::pcie_degraded, true, JobCare::wait, false, {reboot_node, replace_node}},
      {K::thermal_throttle, true, JobCare::wait, false, {replace_node}},
      {K::link_flap, false, JobCare::wait, false, {}},
      {K::link_down, true, JobCare::requeue, false, {replace_node}},
      {K::gsp_timeout, true, JobCare::requeue, false, {reboot_node, power_cycle_node, replace_node}},
      {K::node_silent, true, JobCare::requeue, false, {power_cycle_node, replace_node}},
      {K::host_rebooted, true, JobCare::requeue, true, {replace_node}},
      {K::slow_gpu, true, JobCare::wait, true, {reset_gpu, replace_node}},
      {K::storage_stall, false, JobCare::wait, false, {}},
      {K::app_error, false, JobCare::wait, false, {}},
      {K::job_failed, false, JobCare::wait, false, {}},
      {K::row_hot, false, JobCare::wait, false, {}},  // heat_aware says what is done
      {K::driver_hang, false, JobCare::wait, false, {}},
      {K::gpu_fault, true, JobCare::requeue, false, {reset_gpu, reboot_node, replace_node}},
      {K::gpu_suspect, true, JobCare::wait, true, {reset_gpu, replace_node}},
      {K::ecc_correctable, true, JobCare::wait, true, {reset_gpu, replace_node}},
      {K::power_brake, false, JobCare::wait, false, {}},
      {K::clock_drop, true, JobCare::wait, true, {reset_gpu, reboot_node, replace_node}},
      {K::ib_degraded, true, JobCare::wait, true, {replace_node}},
      {K::nccl_hang, false, JobCare::wait, false, {}},
      {K::version_drift, false, JobCare::wait, false, {}},
      {K::failure_predicted, false, JobCare::wait, false, {}},
      {K::host_fault, true, JobCare::wait, true, {replace_node}},
      {K::mount_stalled, false, JobCare::wait, false, {}},
      {K::hearsay, false, JobCare::wait, false, {}},
      {K::common_cause, false, JobCare::wait, false, {}},
      {K::sdc_suspected, false, JobCare::wait, true, {}},
      {K::xid_other, false, JobCare::wait, false, {}},
  };
  return p;
}

std::array<std::string, 2> scarce_models(const Policy& p) {
  std::array<std::string, 2> out;
  for (const QueueSpec& q : p.queues) {
    for (const ModelQuota& m : q.models) {
      if (m.model == out[0] || m.model == out[1]) continue;
      if (!out[1].empty()) return out;
      out[out[0].empty() ? 0 : 1] = m.model;
    }
  }
  return out;
}

const Ladder* find_ladder(const Policy& p, FindingKind k) {
  for (const Ladder& l : p.ladders) {
    if (l.kind == k) return &l;
  }
  return nullptr;
}

}  // namespace muster
