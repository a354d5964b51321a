// What rules found in a fleet, for people and programs; the rules themselves.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "fleet/check.h"
#include "report/table.h"

namespace muster::report {

struct FleetChecked {
  const FactTable& facts;
  std::span<const FleetRule> rules;
  const fleet::Verdicts& verdicts;
  RuleSeverity least = RuleSeverity::warn;  // smaller ones are counted, not shown
  bool unknown = false;                     // show too what could not be judged
  std::string today;                        // the day that ends of life were held against
  std::vector<std::uint32_t> hardly_known;  // nodes of which there is too little to judge
};

// Those of the verdicts that are shown, the gravest first.
std::vector<const fleet::Verdict*> shown_verdicts(const FleetChecked& checked);
bool any_broken(const FleetChecked& checked);
// Of any node by any rule, as broken or as fine.
bool any_judged(const FleetChecked& checked);

std::string render_fleet_check(const FleetChecked& checked, bool colour);
Table fleet_check_table(const FleetChecked& checked);
std::string fleet_check_json(const FleetChecked& checked);
std::string fleet_check_jsonl(const FleetChecked& checked);

Table fleet_rules_table(std::span<const FleetRule> rules);
std::string fleet_rules_json(std::span<const FleetRule> rules);
// One of them in full.
std::string render_fleet_rule(const FleetRule& rule);

}  // namespace muster::report
