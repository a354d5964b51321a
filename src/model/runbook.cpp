#include "model/runbook.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/acceptance_word.h"

namespace muster {

const Runbook* find_runbook(const std::vector<Runbook>& all, FindingKind kind, std::int32_t code) {
  const Runbook* any = nullptr;
  for (const Runbook& r : all) {
    if (r.kind != kind) continue;
    if (r.codes.empty() && any == nullptr) any = &r;
    if (std::find(r.codes.begin(), r.codes.end(), code) != r.codes.end()) return &r;
  }
  return any;
}

namespace {

Runbook acts(FindingKind kind, JobCare job, bool test_first, std::vector<Verb> steps) {
  return {std::string(name_of(kind)), 1, kind, {}, true, job, test_first, false, std::move(steps), 2, 5};
}
Runbook of_code(std::string name, std::int32_t code, Runbook like) {
  like.name = std::move(name);
  like.codes = {code};
  return like;
}
Runbook watch(FindingKind kind) {
  return {std::string(name_of(kind)), 1, kind, {}, false, JobCare::wait, false, false, {}, 2, 5};
}

// What is known to be wrong is not tested once more before anything is done; what is slow has only missed a limit.
std::vector<Runbook> of_acceptance() {
  using enum Verb;
  using enum JobCare;
  const auto failed = [](AcceptFault fault, JobCare job, bool test_first, std::vector<Verb> steps) {
    return of_code(fmt::format("accept_{}", name_of(fault)), static_cast<std::int32_t>(fault),
                   acts(FindingKind::acceptance_failed, job, test_first, std::move(steps)));
  };
  Runbook not_run = failed(AcceptFault::not_run, wait, false, {});
  not_run.act = false;
  return {
      acts(FindingKind::acceptance_failed, wait, true, {reset_gpu, reboot_node, replace_node}),
      failed(AcceptFault::wrong_results, requeue, false, {reset_gpu, replace_node}),
      failed(AcceptFault::memory, checkpoint, false, {reset_gpu, reboot_node, replace_node}),
      failed(AcceptFault::link, checkpoint, false, {reboot_node, power_cycle_node, replace_node}),
      failed(AcceptFault::slow, wait, true, {reset_gpu, replace_node}),
      failed(AcceptFault::power, wait, true, {reset_gpu, replace_node}),
      std::move(not_run),
      failed(AcceptFault::hung, wait, true, {reset_gpu, reboot_node, power_cycle_node, replace_node}),
  };
}

}  // namespace

std::vector<Runbook> default_runbooks() {
  using enum Verb;
  using enum JobCare;
  using K = FindingKind;
  const Runbook ecc = acts(K::ecc_uncorrectable, requeue, false, {reset_gpu, reboot_node, replace_node});
  Runbook silent = acts(K::host_rebooted, requeue, true, {replace_node});
  silent.skip_7d = 0;  // there is one step only
  const Runbook taken_out = acts(K::engine_drained, wait, true, {reboot_node, replace_node});
  Runbook leftovers = taken_out;
  leftovers.test_first = false;
  std::vector<Runbook> out = {
      acts(K::gpu_lost, requeue, false, {reboot_node, power_cycle_node, replace_node}),
      ecc,
      of_code("ecc_contained", 94, ecc),
      of_code("ecc_uncontained", 95, ecc),
      acts(K::row_remap_pending, wait, false, {reset_gpu, reboot_node, replace_node}),
      acts(K::row_remap_failed, checkpoint, false, {replace_node}),
      acts(K::nvlink_degraded, checkpoint, false, {reset_gpu, reboot_node, replace_node}),
      acts(K::pcie_degraded, checkpoint, false, {reboot_node, replace_node}),
      acts(K::thermal_throttle, checkpoint, false, {replace_node}),
      watch(K::link_flap),
      acts(K::link_down, requeue, false, {bounce_link, replace_node}),
      acts(K::gsp_timeout, requeue, false, {reboot_node, power_cycle_node, replace_node}),
      acts(K::node_silent, requeue, false, {power_cycle_node, replace_node}),
      silent,
      acts(K::slow_gpu, wait, true, {reset_gpu, replace_node}),
      watch(K::storage_stall),
      watch(K::app_error),
      watch(K::job_failed),
      watch(K::row_hot),
      acts(K::driver_hang, wait, true, {reload_driver, reboot_node, power_cycle_node, replace_node}),
      acts(K::gpu_fault, requeue, false, {reset_gpu, reboot_node, replace_node}),
      acts(K::gpu_suspect, wait, true, {reset_gpu, replace_node}),
      acts(K::ecc_correctable, wait, true, {reset_gpu, replace_node}),
      watch(K::power_brake),
      acts(K::clock_drop, wait, true, {reset_gpu, reboot_node, replace_node}),
      acts(K::ib_degraded, wait, true, {bounce_link, replace_node}),
      watch(K::nccl_hang),
      watch(K::version_drift),
      watch(K::failure_predicted),
      acts(K::host_fault, wait, true, {replace_node}),
      watch(K::mount_stalled),
      watch(K::hearsay),
      watch(K::common_cause),
      watch(K::sdc_suspected),
      watch(K::xid_other),
      taken_out,
      of_code("leftover_processes", kLeftovers, leftovers),
      watch(K::fabric_fault),
  };
  for (Runbook& r : of_acceptance()) out.push_back(std::move(r));
  return out;
}

}  // namespace muster
