#include "detect/agents.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
constexpr std::size_t kSubjectMax = 128;  // bytes

void on_word(const AgentSaid& a, Time utc, Signs& out) {
  switch (a.word) {
    case AgentWord::probe_hung:
      return out.see(FindingKind::driver_hang, Severity::warning, a.node, -1, Witness::silence, utc,
                     fmt::format("the probe '{}' does not come back: {}", a.subject, a.text));
    case AgentWord::probe_back: return out.clear(FindingKind::driver_hang, a.node, -1, "the probe answers again");
    case AgentWord::mount_stalled:
      out.see(FindingKind::mount_stalled, Severity::warning, a.node, -1, Witness::silence, utc,
              fmt::format("{} does not answer: {}", a.subject, a.text));
      out.seen.back().subject = a.subject.substr(0, kSubjectMax);
      return;
    case AgentWord::mount_back:
      out.clear(FindingKind::mount_stalled, a.node, -1, "the mount answers again");
      out.gone.back().subject = a.subject.substr(0, kSubjectMax);
      return;
    case AgentWord::started:  // it says again what still hangs
      out.clear(FindingKind::driver_hang, a.node, -1, "the agent was started anew");
      return out.clear(FindingKind::mount_stalled, a.node, -1, "the agent was started anew");
    case AgentWord::dropped:
      // A hook let a job pass that nobody could vouch for, or said no: shown, and never a reason to act.
      if (a.subject == "prolog" || a.subject == "epilog") {
        out.see(FindingKind::hearsay, Severity::warning, a.node, -1, Witness::silence, utc,
                fmt::format("{} of {}", a.subject, a.text));
        out.seen.back().subject = a.subject;
      }
      return;
    case AgentWord::kernel_gap: return;  // kept in the journal: nothing is known to be wrong with the node
  }
}

}  // namespace

const KernelRecord* trusted_record(const Body& b) {
  const auto* heard = std::get_if<KernelHeard>(&b);
  return heard != nullptr && heard->trusted ? &heard->record : nullptr;
}

void on_agent(const Body& b, Time utc, Signs& out) {
  if (const auto* said = std::get_if<AgentSaid>(&b)) return on_word(*said, utc, out);
  const auto* heard = std::get_if<KernelHeard>(&b);
  if (heard == nullptr || heard->trusted) return;
  const KernelRecord& r = heard->record;
  out.seen.push_back({FindingKind::hearsay,
                      Severity::info,
                      r.node,
                      r.slot,
                      {},
                      r.code,
                      {Witness::kernel_log, r.at, fmt::format("log:{:x}/{}", r.boot, r.seq), r.text}});
  const bool link = r.kind == KernelKind::link_down || r.kind == KernelKind::link_up || r.kind == KernelKind::nic_fault;
  if (link) out.seen.back().subject = kLinkSubject;
}

}  // namespace muster::detect
