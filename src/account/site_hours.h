// A site's GPU time by class, from records of its jobs, what is installed, what was out of service, and what GPUs were measured
// to do. All amounts are whole numbers of thousandths of GPU-milliseconds, and the classes sum to what is installed exactly.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "account/site_class.h"
#include "account/site_runs.h"
#include "account/waterfall.h"
#include "model/installed.h"

namespace muster::account {

struct SiteQuestion {
  Time from, to;                     // utc, whole milliseconds
  std::vector<InstalledNode> nodes;  // none: those that jobs were on, each with as many GPUs as jobs ever had there at once
  std::vector<NodeOutage> outages;
  std::vector<NodeActivity> activity;
  std::vector<Time> days;  // where they begin, rising; the first at `from` or before it, the last at `to` or after it
};

// What the records do not say, or contradict. Each is counted and named, and what becomes of the time is fixed.
enum class SiteFault : std::uint8_t {
  gpus_unsaid,        // nothing says how many GPUs it had: none are counted for it
  no_nodes,           // it ran, and nothing says where: none are counted
  ends_before_start,  // it is left out
  end_unknown,        // it is over, and nothing says since when: it is left out
  open_ended,         // it is not over: it counts until the end of the time looked at
  cut_at_edges,       // it began before that time or went on after it: what is within is counted
  over_capacity,      // jobs had more GPUs of a node than it has: those with a known end come first, the earlier before the later
  claimed_while_down,  // its row goes on while its node was down: that counts as down
  uneven,              // its GPUs do not part evenly among its nodes: spread as evenly as fits
  unknown_node,        // a node of jobs that is not among those installed: it counts as installed, as jobs show it
  unknown_outage,      // an outage of a node that is not installed: left out
  unknown_activity,    // likewise a measurement
  bad_node_list,       // its node list is none: no GPUs are counted for it
  busy_unallocated,    // GPUs were measured to be at work that no job had
  start_unknown,       // it ran, and nothing says from when on: it is left out
  nodes_differ,        // its node list names another number of nodes than it had: its GPUs count on those that are named
  shared_measured,     // several jobs were on a node that was measured: what was idle is parted by the GPUs that they had
};
constexpr std::array<std::string_view, 17> names(SiteFault) {
  return {"gpus_unsaid",    "no_nodes",         "ends_before_start",  "end_unknown",      "open_ended",
          "cut_at_edges",   "over_capacity",    "claimed_while_down", "uneven",           "unknown_node",
          "unknown_outage", "unknown_activity", "bad_node_list",      "busy_unallocated", "start_unknown",
          "nodes_differ",   "shared_measured"};
}
constexpr std::size_t kSiteFaults = names(SiteFault{}).size();
constexpr std::size_t kFaultsNamed = 3;

struct FaultSum {
  std::uint64_t count = 0;        // jobs' runs; nodes, outages or measured nodes where it is of those
  std::int64_t milli_ms = 0;      // of GPUs, where that is known
  std::int64_t node_ms = 0;       // of nodes, where GPUs are not
  std::vector<std::string> some;  // the first of them, at most kFaultsNamed; untrusted
};

struct DaySum {
  Time from, to;  // of what is in it: the first and last day may be cut
  bool whole = false;
  SiteSum sum;
};

// What a run had: the classes that a job's time can be in, of files.
struct RunSum {
  std::int64_t held_idle = 0, unseen = 0, useful = 0;
  std::int64_t all() const { return held_idle + unseen + useful; }
};

struct StateSum {
  std::uint64_t runs = 0;
  std::int64_t milli_ms = 0;
};

struct SiteRow {
  std::string name;  // untrusted; empty: not said
  bool no_job = false;
  SiteSum sum;
  std::uint64_t runs = 0;
  std::uint64_t energy_runs = 0;  // of which the energy was measured
  double energy_j = 0;
};

struct SiteAccount {
  Time from, to;
  std::uint64_t nodes = 0;      // with GPUs
  std::int64_t gpus_milli = 0;  // of them all
  bool too_large = false;       // so many GPUs for so long do not fit: nothing is summed
  bool nodes_shown = false;     // by jobs alone: nothing says what is installed
  bool activity_known = false;
  bool waits_from_submit = false;  // nothing says when jobs could begin: they wait from their submission on
  std::int64_t unsaid_idle = 0;    // GPUs that were idle as far as is known, on nodes with jobs whose GPUs are not said
  std::uint64_t runs = 0;          // that had time in it
  SiteSum sum;
  std::vector<DaySum> days;
  std::vector<SiteRow> types;  // of what is installed; sum to `sum`
  std::array<FaultSum, kSiteFaults> faults;
  std::array<StateSum, names(RecordState{}).size()> states;
  std::vector<RunSum> run_sums;  // by SiteRuns::runs()

  const FaultSum& of(SiteFault f) const { return faults[static_cast<std::size_t>(f)]; }
};

// `from` < `to`, and both within what fits.
SiteAccount account_site(const SiteRuns& runs, const SiteQuestion& q);

enum class SiteBy : std::uint8_t { account, partition, user, gpu_type, job, day };
constexpr std::array<std::string_view, 6> names(SiteBy) { return {"account", "partition", "user", "gpu_type", "job", "day"}; }
// Those with the most first, and last what no job had; days in their order. They sum to the site's.
std::vector<SiteRow> rows_of(const SiteRuns& runs, const SiteAccount& a, SiteBy by);

// Days of which nothing is known reach no target.
Streak streak_of(const std::vector<DaySum>& days, double target);

// Whether the sums of so many GPUs from then to then can be told: 140,000 GPUs for a year can.
bool fits(std::int64_t gpus_milli, Time from, Time to);

}  // namespace muster::account
