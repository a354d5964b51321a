// What goes together in a fleet and what settings matter, as data: data/fleet/compat.csv, host_settings.csv and a site's own,
// docs/formats/fleet_rules.md. Expressions are texts here; src/fleet reads them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/fields.h"

namespace muster {

// min, max, exact, window: b's version against a bound, a list, a's own version or the releases before it; where one of both is
// absent the rule does not apply. need: b must be there, or not, or in a state. bundle: the versions of one recipe, all or
// nothing. date: a is fit until a day. setting: tuning. alike: nodes of a kind have one value. job: nodes that one job spans have
// one value.
enum class RuleKind : std::uint8_t { min, max, exact, window, need, bundle, date, setting, alike, job };
constexpr std::array<std::string_view, 10> names(RuleKind) {
  return {"min", "max", "exact", "window", "need", "bundle", "date", "setting", "alike", "job"};
}
enum class RuleSeverity : std::uint8_t { info, warn, error };
constexpr std::array<std::string_view, 3> names(RuleSeverity) { return {"info", "warn", "error"}; }

struct FleetRule {
  std::string id;
  RuleKind kind = RuleKind::need;
  // Facts of both sides, and what their values must be: "cuda.toolkit" and "in 13", "driver.loaded" and ">= 580". Which nodes it
  // is about: where `applies_to` and side a hold. What must be so there: side b. Without b, range_b is a whole expression.
  std::string a, range_a, b, range_b;
  std::string applies_to;  // empty: everywhere
  RuleSeverity severity = RuleSeverity::info;
  std::string says;        // what is wrong where it is broken; {fact} stands for its value
  std::string todo;        // what to do about it
  std::string effect;      // that somebody published; empty: nobody did
  std::string confidence;  // "source read", "issue", "low: ..."
  std::string source;
  std::string file;
  int line = 0;
};

}  // namespace muster
