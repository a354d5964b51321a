// What a site's account says of what it could not see.
#include <fmt/core.h>

#include <algorithm>

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
      return fmt::format("The node list of {} cannot be read: {} are left out{}.", runs(f), hours(f.milli_ms), such_as(f));
    case SiteFault::ends_before_start:
      return fmt::format("{} ended before {} began, and {} left out{}.", runs(f), f.count == 1 ? "it" : "they",
                         f.count == 1 ? "is" : "are", such_as(f));
    case SiteFault::end_unknown: return fmt::format("{} without an end, though over: left out{}.", runs(f), such_as(f));
    case SiteFault::open_ended:
      return fmt::format(
          "{} had not ended: counted until the end, {}{}. `sacctmgr show runawayjobs` lists those that Slurm itself has lost.",
          runs(f), hours(f.milli_ms), such_as(f));
    case SiteFault::cut_at_edges:
      return fmt::format("{} from before the time looked at, or on beyond it: {} of that are within it.", runs(f),
                         hours(f.milli_ms));
    case SiteFault::over_capacity:
      return fmt::format(
          "{} with more GPUs of a node than it has left: {} are not counted{}. Runs with a known end come first, the earlier "
          "before "
          "the later.",
          runs(f), hours(f.milli_ms), such_as(f));
    case SiteFault::claimed_while_down:
      return fmt::format("{} that go on by their rows while a node of theirs was down: those {} count as down{}.", runs(f),
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
    case SiteFault::start_unknown:
      return fmt::format(
          "{} without a start that can be read, though GPUs were had: left out{}{}. Whose time it was is called idle.", runs(f),
          f.milli_ms > 0 ? ", " + hours(f.milli_ms) + " by the lengths in the rows" : std::string(), such_as(f));
    case SiteFault::nodes_differ:
      return fmt::format("{} with another number of nodes than the node list names: {} count on those that it names{}.", runs(f),
                         hours(f.milli_ms), such_as(f));
    case SiteFault::shared_measured:
      return fmt::format(
          "{} shared a node with others while GPUs of it were idle: what was held idle is parted by the GPUs that each had.",
          runs(f));
  }
  return {};
}

// Time of which the records know nothing looks like time in which nobody wanted a GPU.
void note_reach(const SiteView& v, std::vector<std::string>& out) {
  constexpr std::int64_t kWorthSaying_ms = 3'600'000;
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  for (const account::SiteRun& r : v.runs->runs()) {
    for (const std::int64_t ms : {r.submitted_ms, r.eligible_ms, r.started_ms, r.ended_ms}) {
      if (ms == account::kNoTime) continue;
      first = std::min(first, ms);
      last = std::max(last, ms);
    }
  }
  const std::int64_t from = v.account->from.ms(), to = v.account->to.ms();
  const auto utc = [](std::int64_t ms) { return render_utc(Time{ms * 1'000'000}); };
  if (first > last || last <= from || first >= to) {
    out.push_back(first > last ? "No record tells of a run at any time: all that is installed is called idle."
                               : fmt::format("No record is of the time looked at: they reach from {} to {}. What is installed is "
                                             "called idle.",
                                             utc(first), utc(last)));
    return;
  }
  if (first - from > kWorthSaying_ms)
    out.push_back(fmt::format("The records begin at {}, {} after the time looked at does: until then all is called idle.",
                              utc(first), render_span(milliseconds(first - from))));
  if (to - last > kWorthSaying_ms)
    out.push_back(
        fmt::format("The records end at {}, {} before the time looked at does: what no job had since then is called "
                    "idle.",
                    utc(last), render_span(milliseconds(to - last))));
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
  note_reach(v, out);
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
