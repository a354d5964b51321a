// Rules held against the facts of a fleet: what does not go together, which settings are not as they should be, and what nobody
// knows enough about to say.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/golden.h"
#include "model/fact_table.h"
#include "model/fleet_rule.h"

namespace muster::fleet {

enum class RuleStatus : std::uint8_t { broken, unknown, ok, not_applicable };
constexpr std::array<std::string_view, 4> names(RuleStatus) { return {"broken", "unknown", "ok", "not applicable"}; }

// That nodes with a value of a fact were measured to be slower than their like: by the test of src/fleet/causes.h.
struct SettingEffect {
  std::string entity, key, value;  // value: empty with `absent`
  bool absent = false;
  double effect_pct = 0;  // by which they are slower
  double p = 1;
};

struct CheckOptions {
  std::string today;                             // "2026-11-19"; empty: not known, and then neither is the end of any life
  std::vector<std::vector<std::uint32_t>> jobs;  // nodes that one job spans; empty: all nodes of a kind might
  std::vector<Cohort> kinds;                     // empty: cohorts_of
  std::vector<SettingEffect> effects;
  GoldenOptions agree;  // of rules that ask nodes of a kind to be alike
};

// Of some nodes by one rule; all of them for the same reason.
struct Verdict {
  std::uint32_t rule = 0;  // place among the rules
  RuleStatus status = RuleStatus::ok;
  RuleSeverity severity = RuleSeverity::info;  // the rule's; of a setting more where its effect was measured
  std::vector<std::uint32_t> nodes;            // ascending
  std::vector<std::string> parts;              // of each of them: "mlx5_3"; empty: the node itself
  std::string says;                            // broken: what is wrong, with values
  std::string found;                           // "driver.loaded 580.159.04, fabricmanager.version 580.95.05"
  std::vector<std::string> missing;            // unknown: facts that would decide; empty: a value that the rule does not know
  std::optional<SettingEffect> effect;
};

struct Verdicts {
  std::vector<Verdict> all;  // by rule, then broken, unknown, ok, not applicable; each with the most nodes first
};

// An error names the rule's file and line. check_rules takes only rules that pass.
Result<void> validate_rules(std::span<const FleetRule> rules, const FactBook& book);
Verdicts check_rules(const FactTable& table, const FactBook& book, std::span<const FleetRule> rules, const CheckOptions& options);

// What side a and applies_to come to, and what must hold there, each as one expression; for people.
std::string where_text(const FleetRule& rule);
std::string wanted_text(const FleetRule& rule);

}  // namespace muster::fleet
