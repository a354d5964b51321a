// muster fleet rules: what each rule says, asks and comes from; rules made of NVIDIA's list of drivers.
#include "ingest/fleet_rules.h"

#include <fmt/core.h>

#include "files.h"
#include "fleet_options.h"
#include "fleet_rule_set.h"
#include "report/fleet_check.h"
#include "say.h"

namespace muster::cmd {
namespace {

int import_releases(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return say_error(text.error());
  const auto rules = rules_of_driver_releases(*text, file);
  if (!rules) return say_error(rules.error());
  put(render_fleet_rules(*rules));
  return finish_output();
}

}  // namespace

int run_fleet_rules(const FleetRulesOptions& o) {
  if (!o.import.empty()) return import_releases(o.import);
  auto rules = rule_set(o.rules, o.id.empty() ? std::vector<std::string>{} : std::vector<std::string>{o.id});
  if (!rules) return say_error(rules.error());
  if (o.format == report::Format::json) {
    put(report::fleet_rules_json(*rules));
  } else if (o.format == report::Format::csv) {
    put(render_fleet_rules(*rules));
  } else if (!o.id.empty()) {
    for (const FleetRule& r : *rules) put(report::render_fleet_rule(r));
  } else {
    put(report::render_table(report::fleet_rules_table(*rules), {true, o.format == report::Format::wide, colour_wanted()}));
  }
  return finish_output();
}

}  // namespace muster::cmd
