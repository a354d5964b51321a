// What a site's account says of what it could not see.
#include <fmt/core.h>

#include "base/text.h"
#include "report/site_account.h"
#include "report/units.h"

namespace muster::report {
namespace {

using account::FaultSum;
using account::SiteFault;

std::string hours(std::int64_t milli_ms) { return render_decimal(account::gpu_hours(milli_ms), 1) + " GPU-hours"; }
std::string node_hours(std::int64_t ms) { return render_decimal(static_cast<double>(ms) / 3.6e6, 1) + " node-hours"; }

std::string such_as(const FaultSum& f) {
  if (f.some.empty()) return "";
  std::vector<std::string> some;
  for (const std::string& s : f.some) some.push_back(printable(clipped(s, 200)));
  return fmt::format(" ({}{})", join(some, ", "), f.count > f.some.size() ? ", ..." : "");
}

std::string runs(const FaultSum& f) {
  return f.count == 1 ? "1 run" : render_count(static_cast<std::int64_t>(f.count)) + " runs";
}

std::string about(SiteFault kind, const FaultSum& f, const account::SiteAccount& a) {
  switch (kind) {
    case SiteFault::gpus_unsaid:
      return fmt::format(
          "Of {} nothing says how many GPUs they had: {}{}. They are counted with none, and up to {} called idle may have been "
          "theirs. Slurm keeps GPUs only with AccountingStorageTRES=gres/gpu in slurm.conf, from then on.",
          runs(f), node_hours(f.node_ms), such_as(f), hours(a.unsaid_idle));
    case SiteFault::no_nodes:
      return fmt::format("Of {} nothing says on which nodes: {} are left out{}.", runs(f), hours(f.milli_ms), such_as(f));
    case SiteFault::bad_node_list:
      return fmt::format("The node list of {} is none: {} are left out{}.", runs(f), hours(f.milli_ms), such_as(f));
    case SiteFault::ends_before_start: return fmt::format("{} ended before they began, and are left out{}.", runs(f), such_as(f));
    case SiteFault::end_unknown: return fmt::format("{} are over and have no end: they are left out{}.", runs(f), such_as(f));
    case SiteFault::open_ended:
      return fmt::format(
          "{} had not ended: they count until the end, {}{}. `sacctmgr show runawayjobs` lists those that Slurm itself has lost.",
          runs(f), hours(f.milli_ms), such_as(f));
    case SiteFault::cut_at_edges:
      return fmt::format("{} reach beyond the time looked at: {} of them are within it.", runs(f), hours(f.milli_ms));
    case SiteFault::over_capacity:
      return fmt::format(
          "{} claim more GPUs of a node than it has left: {} are not counted{}. Runs with a known end come first, the earlier "
          "before "
          "the later.",
          runs(f), hours(f.milli_ms), such_as(f));
    case SiteFault::claimed_while_down:
      return fmt::format("{} go on in their rows while a node of theirs was down: those {} count as down{}.", runs(f),
                         hours(f.milli_ms), such_as(f));
    case SiteFault::uneven:
      return fmt::format("The GPUs of {} do not part evenly among their nodes: {} are spread as evenly as fits.", runs(f),
                         hours(f.milli_ms));
    case SiteFault::unknown_node:
      return fmt::format(
          "Jobs were on {} that are not among those installed{}: they count as installed, with as many GPUs as jobs had there at "
          "once.",
          counted(static_cast<std::int64_t>(f.count), "node"), such_as(f));
    case SiteFault::unknown_outage:
      return fmt::format("{} of nodes that are not installed here, or have no GPUs, are left out{}.",
                         counted(static_cast<std::int64_t>(f.count), "outage"), such_as(f));
    case SiteFault::unknown_activity:
      return fmt::format("{} measured that are not installed here{}.",
                         f.count == 1 ? "1 node was" : render_count(static_cast<std::int64_t>(f.count)) + " nodes were",
                         such_as(f));
    case SiteFault::busy_unallocated:
      return fmt::format("On {} GPUs were at work that no job had: {}{}. Work outside Slurm, or records that lack jobs.",
                         counted(static_cast<std::int64_t>(f.count), "node"), hours(f.milli_ms), such_as(f));
    case SiteFault::shared_measured:
      return fmt::format(
          "{} shared a node with others while GPUs of it were idle: what was held idle is parted by the GPUs that each had.",
          runs(f));
  }
  return {};
}

}  // namespace

std::vector<std::string> site_account_notes(const SiteView& v) {
  const account::SiteAccount& a = *v.account;
  std::vector<std::string> out = v.notes;
  if (a.nodes_shown)
    out.emplace_back(
        "Nothing says what is installed: it is taken to be the most GPUs that jobs had of each node at once, so nodes that no "
        "job was on are missing. Give --nodes.");
  if (v.metric.empty()) {
    out.emplace_back(
        "Nothing says what GPUs did while a job had them: that time is unseen, and no efficiency is known. Give --prometheus or "
        "--activity, or run Muster.");
  } else {
    out.push_back(fmt::format(
        "Useful here is what {} shows to be at work ({} % or more): steps that were lost with an attempt, or waited for "
        "others, are in it. Muster's journal tells them apart.",
        printable(v.metric), render_number(account::kHeldIdleBelow * 100)));
  }
  if (a.waits_from_submit)
    out.emplace_back(
        "No record says when its job could begin (Eligible): jobs wait from their submission on, so idle_fragmented is at most "
        "what is shown.");
  account::StateSum lost;
  for (const RecordState s : {RecordState::node_fail, RecordState::boot_fail, RecordState::preempted, RecordState::requeued}) {
    const account::StateSum& x = a.states[static_cast<std::size_t>(s)];
    lost.runs += x.runs;
    lost.milli_ms += x.milli_ms;
  }
  if (lost.runs > 0)
    out.push_back(fmt::format(
        "{} ended by a node's failure, preemption or a requeue, and had {}: what of that was lost since their last "
        "checkpoints these files do not say.",
        lost.runs == 1 ? "1 run" : render_count(static_cast<std::int64_t>(lost.runs)) + " runs", hours(lost.milli_ms)));
  for (std::size_t i = 0; i < account::kSiteFaults; ++i) {
    if (a.faults[i].count > 0) out.push_back(about(static_cast<SiteFault>(i), a.faults[i], a));
  }
  return out;
}

}  // namespace muster::report
