// How many jobs an upgrade can meet with nodes of both versions, and how many have to wait because neither side has nodes enough:
// the jobs of now held against the steps of a plan.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fleet/upgrade_plan.h"
#include "model/site.h"

namespace muster::fleet {

struct JobNow {
  std::vector<std::string> nodes;  // it runs on; empty: it waits
  std::uint32_t wants = 0;         // nodes that it waits for
};

struct Exposure {
  std::string from;     // who told of the jobs, in words; empty: nobody
  std::string why_not;  // and why nobody did
  std::uint32_t running = 0;
  std::uint32_t several = 0;   // of them, on nodes that could be of two sides: several nodes, or several of one NVLink domain
  std::uint32_t both_now = 0;  // of these, with nodes of both versions already
  struct Step {
    std::uint32_t with_it = 0;    // planned nodes that have it when the step is over
    std::uint32_t jobs_most = 0;  // of `several`, as they lie now: so many at most would be on both versions
  };
  std::vector<Step> steps;               // the canaries, then each wave
  std::optional<std::uint32_t> waiting;  // jobs; nothing: whoever told of the jobs told only of those that run
  std::uint32_t too_large = 0;           // of them, for `side_nodes`
  std::uint32_t side_nodes = 0;          // that one side has at the widest moment, at least

  bool known() const { return !from.empty(); }
};

// `away_nodes` may be out of service at one time for it. Which nodes have their turn when is decided by whose jobs end, so the
// numbers of jobs are bounds over every order of turns: exact ones, but where jobs share nodes.
Exposure exposure_of(const UpgradePlan& plan, const Site& site, std::span<const JobNow> jobs, bool tells_waiting,
                     std::uint32_t away_nodes);

}  // namespace muster::fleet
