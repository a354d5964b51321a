#include "model/finding.h"

#include <algorithm>

#include "base/text.h"
#include "model/fabric_fault.h"

namespace muster {
bool explains(const Finding& f) {
  return f.kind == FindingKind::common_cause && f.subject != kSiteSubject && f.subject != kEngineSubject &&
         f.subject != kClockSubject && !hanging_leaf(f);
}

std::optional<std::uint32_t> hanging_leaf(const Finding& f) {
  if (f.kind != FindingKind::common_cause || !f.subject.starts_with(kHangsSubject)) return std::nullopt;
  const auto leaf = parse_uint(std::string_view(f.subject).substr(kHangsSubject.size()));
  if (!leaf || *leaf > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*leaf);
}

std::optional<std::uint32_t> suspect_leaf(const Finding& f) {
  if (const auto leaf = hanging_leaf(f)) return leaf;
  if (f.kind != FindingKind::fabric_fault || f.node.some() || f.slot < 0) return std::nullopt;
  const auto what = read_fault_subject(f.subject).kind;
  return what && costs_bandwidth(*what) ? std::optional(static_cast<std::uint32_t>(f.slot)) : std::nullopt;
}

bool of_link(const Finding& f) {
  switch (f.kind) {
    case FindingKind::link_flap:
    case FindingKind::link_down:
    case FindingKind::ib_degraded: return f.slot >= 0;
    case FindingKind::failure_predicted:
    case FindingKind::hearsay: return f.slot >= 0 && f.subject == kLinkSubject;
    default: return false;
  }
}

bool has_witness_beyond_log(const Finding& f) {
  for (const Evidence& e : f.evidence) {
    if (e.witness != Witness::kernel_log) return true;
  }
  return false;
}

bool leaves_nothing_to_run_on(FindingKind k) {
  return k == FindingKind::gpu_lost || k == FindingKind::ecc_uncorrectable || k == FindingKind::node_silent ||
         k == FindingKind::link_down || k == FindingKind::gsp_timeout;
}

bool code_is_percent(FindingKind k) {
  return k == FindingKind::common_cause || k == FindingKind::failure_predicted || k == FindingKind::fabric_fault;
}

bool code_is_xid(FindingKind k) {
  return !code_is_percent(k) && k != FindingKind::engine_drained && k != FindingKind::acceptance_failed;
}

bool same_trouble(const Finding& f, FindingKind kind, std::int32_t code) {
  return f.kind == kind && (f.code == code || kind != FindingKind::acceptance_failed);
}

double confidence(const Finding& f) {
  std::uint32_t witnesses = 0;
  for (const Evidence& e : f.evidence) witnesses |= 1U << static_cast<unsigned>(e.witness);
  if ((witnesses >> static_cast<unsigned>(Witness::test) & 1U) != 0) return 0.99;
  const bool two = (witnesses & (witnesses - 1)) != 0;
  switch (f.kind) {
    case FindingKind::common_cause:
    case FindingKind::fabric_fault:
    case FindingKind::failure_predicted: return std::clamp(f.code / 100.0, 0.0, 1.0);
    // Inferred from how it compares with others, not stated by any part.
    case FindingKind::slow_gpu:
    case FindingKind::gpu_suspect:
    case FindingKind::clock_drop: return two ? 0.8 : 0.6;
    case FindingKind::hearsay:
    case FindingKind::sdc_suspected: return two ? 0.5 : 0.3;
    case FindingKind::link_flap:
    case FindingKind::mount_stalled:
    case FindingKind::nccl_hang:
    case FindingKind::storage_stall:
    case FindingKind::node_silent: return two ? 0.95 : 0.8;
    default: return two ? 0.99 : 0.9;
  }
}

std::string_view suggestion(FindingKind k) {
  switch (k) {
    case FindingKind::gpu_lost: return "drain; reboot, then power-cycle; on repeat reseat or replace the GPU";
    case FindingKind::ecc_uncorrectable: return "restart the job elsewhere; reset the GPU; on repeat replace it";
    case FindingKind::row_remap_pending: return "reset the GPU once its job has ended";
    case FindingKind::row_remap_failed: return "drain at the job's end; replace the GPU";
    case FindingKind::nvlink_degraded: return "drain at the job's end; reset the GPU; on repeat check NVLink and its switch";
    case FindingKind::pcie_degraded: return "drain at the job's end; reboot; on repeat reseat the board";
    case FindingKind::thermal_throttle: return "check cooling and the GPU's heat sink";
    case FindingKind::link_flap: return "watch; on repeat clean or replace the cable";
    case FindingKind::link_down: return "replace the cable or the transceiver; check the switch port";
    case FindingKind::gsp_timeout: return "drain; reset the GPU; if that fails, reboot";
    case FindingKind::node_silent: return "power-cycle the node";
    case FindingKind::host_rebooted: return "test the node; read its console log of before the boot";
    case FindingKind::slow_gpu: return "test the GPU once its job has ended";
    case FindingKind::storage_stall: return "look at the store; leave the nodes alone";
    case FindingKind::app_error: return "tell the job's owner; leave the node alone";
    case FindingKind::job_failed: return "see the job's log and the findings on its nodes";
    case FindingKind::row_hot: return "check the row's cooling; limit its power";
    case FindingKind::gpu_fault: return "drain; reset the GPU, or reboot where the driver says so; on repeat replace it";
    case FindingKind::gpu_suspect: return "test the GPU once its job has ended";
    case FindingKind::ecc_correctable: return "test the GPU's memory once its job has ended";
    case FindingKind::power_brake: return "check power supplies, cables and the rack's feed";
    case FindingKind::clock_drop: return "test the GPU once its job has ended";
    case FindingKind::ib_degraded: return "clean or replace the cable; check the switch port";
    case FindingKind::driver_hang: return "drain; reboot the node";
    case FindingKind::nccl_hang: return "find the rank that did not come to the collective; restart the job";
    case FindingKind::version_drift: return "bring the node to the version of its peers when it is next empty";
    case FindingKind::failure_predicted: return "plan a replacement; move long jobs away at their next checkpoint";
    case FindingKind::host_fault: return "drain; replace the memory module or the processor named";
    case FindingKind::mount_stalled:
      return "look at the store and the network to it; leave the node alone while others hang as well";
    case FindingKind::common_cause: return "look at what the nodes share; leave the nodes alone until it is known to be sound";
    case FindingKind::sdc_suspected:
      return "test the GPU's arithmetic and memory once its job has ended; compare with a replay elsewhere";
    case FindingKind::xid_other: return "look the code up (muster explain xid N); watch the GPU";
    case FindingKind::engine_drained: return "test the node; reboot it where processes could not be ended; read slurmd's log";
    case FindingKind::fabric_fault: return "go to the ends it names and look at cable and ports; leave the nodes alone";
    case FindingKind::acceptance_failed:
      return "reset the GPU, or reboot where its link fails, and test again (muster accept); on repeat replace it";
    case FindingKind::hearsay: return "read /dev/kmsg on the node: a log file can be written by its users";
  }
  return {};
}

}  // namespace muster
