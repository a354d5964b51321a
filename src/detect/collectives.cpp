#include "detect/collectives.h"

namespace muster::detect {

// A job writes its log itself, so these findings name the job; only a port's flap, which the job merely noticed, names a node.
void Collectives::on_record(const JobLogRecord& r, Signs& out) {
  const auto say = [&](FindingKind kind, Severity severity, NodeId node, std::int16_t slot, JobId job) {
    out.seen.push_back({kind, severity, node, slot, job, 0, {Witness::job, r.at, {}, r.text}});
  };
  const auto port = std::pair(r.job, std::pair(r.node, r.slot));
  switch (r.kind) {
    case JobLogKind::timed_out:
    case JobLogKind::heartbeat_lost:
    case JobLogKind::transfer_failed: return say(FindingKind::nccl_hang, Severity::warning, {}, -1, r.job);
    case JobLogKind::mismatch: return say(FindingKind::nccl_hang, Severity::info, {}, -1, r.job);
    case JobLogKind::port_error:
      if (r.node.some()) down_[port] = r.at;
      return;
    case JobLogKind::port_active: {
      // Some versions do not say which port is back: then it is the one of that node that was lost.
      auto it = down_.find(port);
      if (it == down_.end() && r.slot < 0) it = down_.lower_bound({r.job, {r.node, -1}});
      if (it == down_.end() || it->first.first != r.job || it->first.second.first != r.node) return;
      say(FindingKind::link_flap, Severity::info, r.node, it->first.second.second, {});
      down_.erase(it);
      return;
    }
  }
}

}  // namespace muster::detect
