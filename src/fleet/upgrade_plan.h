// The plan of a rolling upgrade: from what is wanted and what the nodes have to what moves together and in which order, who goes
// first, how the rest follows, what may not be mixed meanwhile, and what the rules refuse.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fleet/check.h"
#include "model/site.h"
#include "model/upgrade.h"
#include "model/upgrade_order.h"

namespace muster::fleet {

struct UpgradeAsk {
  std::vector<std::pair<std::string, std::string>> to;  // "driver", "580.159.04"
  std::vector<std::string> nodes;                       // names; empty: all of the facts
  std::string today;                                    // for ends of life; empty: not known
  Time now;                                             // utc, for the age of facts; 0: not asked
  std::uint32_t canaries = 0;                           // 0: one in a hundred, three at least, one of each kind
  bool allow_downgrade = false;
};

struct PlannedPart {
  std::string what, version;
  std::string before;              // what all nodes of the plan have; empty: nobody knows
  std::uint32_t have_it = 0;       // of the nodes that were looked at
  std::uint32_t have_another = 0;  // of them, with neither that nor `before`
  bool added = false;              // nobody asked for it: it moves with something that was asked for
  std::string why, rule, source;
};

// Which nodes are in it is decided when they come free: a plan that named them would not be kept.
struct UpgradeWave {
  double up_to_pct = 0;     // of the nodes, those before it included
  std::uint32_t nodes = 0;  // in this one
};

// Something that a rule has to say.
struct PlanWord {
  std::string says;
  std::string rule, source;  // empty: no rule, but what is asked for and what the nodes have
  std::vector<std::string> nodes;
  std::vector<std::string> missing;  // facts that would decide
  std::string next;                  // what to do about it; empty: say or read what is missing
};

struct UpgradePlan {
  std::vector<PlannedPart> parts;     // in order
  std::vector<std::string> nodes;     // that get them; all of them have the same before; empty: there is nothing to do
  std::vector<std::string> done;      // that have all of it
  std::vector<std::string> lacking;   // that have nothing of what is asked for
  std::uint32_t looked_at = 0;        // nodes of the cluster with facts, of those that were asked for
  std::vector<std::string> canaries;  // candidates: those of them that are free first go
  std::uint32_t canaries_wanted = 0;  // so many of them
  std::vector<UpgradeWave> waves;
  std::vector<PlanWord> apart;  // no job on nodes with it and nodes without, because
  ApartWithin apart_within = ApartWithin::job;
  std::vector<PlanWord> refused;  // what the wanted versions break: the plan must not be carried out
  std::vector<PlanWord> unknown;  // rules that nobody can judge: it is not begun before they are
  std::vector<std::string> notes;

  bool nothing_to_do() const { return nodes.empty() && refused.empty() && unknown.empty(); }
};

// An error: a word that is nothing to upgrade or no version of it, a node that the cluster does not have. What rules refuse is in
// the plan.
Result<UpgradePlan> plan_upgrade(const UpgradeAsk& ask, const FactTable& table, const FactBook& book, const Site& site,
                                 std::span<const UpgradeStep> order, std::span<const FleetRule> rules);
// For the controller, of a plan with nodes; watch, at_once_pct and finish_in are the caller's.
void put_plan(const UpgradePlan& plan, UpgradeSpec& spec);

}  // namespace muster::fleet
