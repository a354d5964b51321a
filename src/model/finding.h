// Findings: something is wrong with a GPU, a node, a job or the site, with the evidence for it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/fields.h"

namespace muster {

enum class FindingKind : std::uint8_t {
  gpu_lost,  // fallen off the bus, or missing from the scrape
  ecc_uncorrectable,
  row_remap_pending,
  row_remap_failed,
  nvlink_degraded,
  pcie_degraded,
  thermal_throttle,
  link_flap,          // a NIC's link went down and came back
  link_down,          // ... and stayed down
  gsp_timeout,        // the GPU's own processor does not answer
  node_silent,        // nothing heard from the node
  host_rebooted,      // the node came back by itself
  slow_gpu,           // suspected from step times and peers: never enough to act on alone
  storage_stall,      // checkpoints crawl everywhere: not a node's fault
  app_error,          // the job's own fault by the fault catalogue (Xid 13, 31, 43 ...)
  job_failed,         // a gang ended with an error
  row_hot,            // a row of racks grows hotter than its cooling can hold; `slot` is the row, and no node is named
  driver_hang,        // a probe of the driver does not come back
  gpu_fault,          // the GPU stopped working in another way: its driver asks for a reset or a reboot
  gpu_suspect,        // programs of different jobs fail on the same GPU, more often than chance would have it
  ecc_correctable,    // corrected memory errors at a rate that healthy memory does not have
  power_brake,        // the board is slowed by its power supply
  clock_drop,         // runs far below the clock of its peers, and neither heat nor power is the reason
  ib_degraded,        // a NIC's link loses data or speed
  nccl_hang,          // a job's collective did not end in time
  version_drift,      // another driver or firmware than its peers run
  failure_predicted,  // errors multiply: `code` is the probability of failure, in percent
  host_fault,         // the machine itself: processor or memory errors that were not corrected
  mount_stalled,      // a file system on the node does not answer
  hearsay,            // a log file that users may write to tells of a fault: shown, never acted on
  common_cause,       // the same trouble on many nodes that share something: `subject` names it, `code` is how sure, in percent
  sdc_suspected,      // results that do not repeat: a GPU that computes wrongly without saying so, perhaps
  xid_other,          // an Xid worth knowing that asks for no act by itself, or that nobody knows
  engine_drained,     // the engine took the node out of service by its own rules; `code` is kLeftovers where it said so
  fabric_fault,       // of the network, by the word of a watch on it: `subject` names it, `code` is how sure, in percent; where
                      // no node is named `slot` is the leaf that it touches
  acceptance_failed,  // a GPU, or a node, failed its acceptance tests: `subject` names the part, `code` is an AcceptFault
};
constexpr std::array<std::string_view, 36> names(FindingKind) {
  return {"gpu_lost",         "ecc_uncorrectable", "row_remap_pending", "row_remap_failed", "nvlink_degraded", "pcie_degraded",
          "thermal_throttle", "link_flap",         "link_down",         "gsp_timeout",      "node_silent",     "host_rebooted",
          "slow_gpu",         "storage_stall",     "app_error",         "job_failed",       "row_hot",         "driver_hang",
          "gpu_fault",        "gpu_suspect",       "ecc_correctable",   "power_brake",      "clock_drop",      "ib_degraded",
          "nccl_hang",        "version_drift",     "failure_predicted", "host_fault",       "mount_stalled",   "hearsay",
          "common_cause",     "sdc_suspected",     "xid_other",         "engine_drained",   "fabric_fault",
          "acceptance_failed"};
}

enum class Severity : std::uint8_t { info, warning, critical };
constexpr std::array<std::string_view, 3> names(Severity) { return {"info", "warning", "critical"}; }

// Who says so. Kernel log lines can be forged by users, so an act that destroys work needs one of the others as well.
enum class Witness : std::uint8_t { kernel_log, scrape, silence, engine, job, test };
constexpr std::array<std::string_view, 6> names(Witness) { return {"kernel_log", "scrape", "silence", "engine", "job", "test"}; }

struct Evidence {
  Witness witness = Witness::scrape;
  Time at;           // utc of the observation
  std::string ref;   // identity of the record, e.g. "kmsg:9f3c/120"; empty for samples
  std::string text;  // what was seen; untrusted
};

struct Finding {
  FindingId id;
  FindingKind kind = FindingKind::gpu_lost;
  Severity severity = Severity::warning;
  NodeId node;             // none: the site
  std::int16_t slot = -1;  // GPU slot; of row_hot: the row; of fabric_fault: the leaf
  JobId job;
  std::int32_t code = 0;           // Xid number where there is one; where code_is_percent() says so, how sure it is
  Time opened;                     // utc
  Time cleared;                    // utc; 0 while open
  std::vector<Evidence> evidence;  // at most kEvidenceMax, the first and the newest kept
  Time since;                      // utc: when it began as far as can be told; 0: when it was found
  std::string subject;             // what neither node nor slot says: a mount, what many nodes share; untrusted
  FindingId part_of;               // the common cause it is explained by
  std::uint32_t loss_pct = 0;      // of the work of its GPUs, or of its job's, that is lost while it lasts

  Time began() const { return since.ns != 0 ? since : opened; }
};
constexpr std::size_t kEvidenceMax = 8;
// Code of engine_drained: the engine could not end what a job had left running on the node.
constexpr std::int32_t kLeftovers = 1;

// What a common cause is called when its nodes share nothing narrower, and when it is not a matter of nodes at all.
constexpr std::string_view kSiteSubject = "the site: nothing less that they share is known";
constexpr std::string_view kEngineSubject = "the scheduler engine";
constexpr std::string_view kClockSubject = "the controller's clock";
// A common cause that is seen in jobs alone: before the number of the leaf. No node has a fault of its own to point to it.
constexpr std::string_view kHangsSubject = "jobs hang under leaf switch ";
std::optional<std::uint32_t> hanging_leaf(const Finding& f);
// The leaf that new work had better avoid while it is open: jobs hang under it, or a fault of the network costs it bandwidth.
std::optional<std::uint32_t> suspect_leaf(const Finding& f);
// A common cause that names what its nodes share: they are not acted on one by one while it stands.
bool explains(const Finding& f);
// Subject of what is told of a NIC's link by a kind that is mostly about GPUs.
constexpr std::string_view kLinkSubject = "network link";
// The slot is a NIC's: the finding is about its link.
bool of_link(const Finding& f);
bool has_witness_beyond_log(const Finding& f);
bool code_is_percent(FindingKind k);
// It is an Xid where it is not 0.
bool code_is_xid(FindingKind k);
// Of acceptance_failed the codes are different troubles: who is slow is waited for, who computes wrongly is not.
bool same_trouble(const Finding& f, FindingKind kind, std::int32_t code);
// How sure the finding is, 0 to 1: from what kind it is and from who bears witness. Not a probability of failure.
double confidence(const Finding& f);
// What a person would do about it, in words of the field.
std::string_view suggestion(FindingKind k);
// A job put on a node with this would fail at once: there is nothing to run on.
bool leaves_nothing_to_run_on(FindingKind k);

template <class V>
void fields(V& v, Evidence& e) {
  v("witness", e.witness);
  v("at", e.at);
  v("ref", e.ref);
  v("text", e.text);
}

template <class V>
void fields(V& v, Finding& f) {
  v("id", f.id);
  v("kind", f.kind);
  v("severity", f.severity);
  v("node", f.node);
  v("slot", f.slot);
  v("job", f.job);
  v("code", f.code);
  v("opened", f.opened);
  v("cleared", f.cleared);
  v("evidence", f.evidence);
  v("since", f.since);
  v("subject", f.subject);
  v("part_of", f.part_of);
  v("loss_pct", f.loss_pct);
}

}  // namespace muster
