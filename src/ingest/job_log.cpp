#include "ingest/job_log.h"

#include "ingest/pci.h"

namespace muster {
namespace {

std::optional<JobLogKind> kind_of(const TrainEvent& e) {
  constexpr int kFlushed = 5;  // a transfer given up because another on the same connection failed first
  switch (e.kind) {
    case TrainKind::watchdog_timeout: return JobLogKind::timed_out;
    case TrainKind::watchdog_failure: return JobLogKind::standing;
    case TrainKind::not_a_number: return JobLogKind::not_a_number;
    case TrainKind::not_repeatable: return JobLogKind::not_repeatable;
    case TrainKind::heartbeat_timeout: return JobLogKind::heartbeat_lost;
    case TrainKind::ib_completion: return e.status == kFlushed ? std::nullopt : std::optional(JobLogKind::transfer_failed);
    case TrainKind::ib_port_error: return JobLogKind::port_error;
    case TrainKind::ib_port_active: return JobLogKind::port_active;
    case TrainKind::collective_mismatch: return JobLogKind::mismatch;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<JobLogRecord> job_log_record(const TrainEvent& e, JobId job, Time at, const Site& site) {
  const auto kind = kind_of(e);
  if (!kind) return std::nullopt;
  JobLogRecord r;
  r.at = at;
  r.job = job;
  r.kind = *kind;
  // The rank within a smaller group is somebody else's rank in the job.
  const bool of_all = e.whole_job || e.group.empty() || e.group == "0" || e.group.substr(0, 2) == "0(";
  r.rank = of_all ? e.rank : -1;
  r.gpu = static_cast<std::int16_t>(e.gpu >= 0 && e.gpu < 16 ? e.gpu : -1);
  r.seq = e.kind == TrainKind::watchdog_failure ? e.last_enqueued : e.seq;
  r.slot = static_cast<std::int16_t>(slot_of_nic(e.device, site));
  r.text = e.text;
  for (std::size_t n = 0; n < site.nodes.size(); ++n) {
    if (!e.host.empty() && site.nodes[n].name == e.host) r.node = NodeId{static_cast<std::uint32_t>(n)};
  }
  return r;
}

}  // namespace muster
