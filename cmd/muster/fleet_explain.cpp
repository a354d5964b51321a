// muster fleet explain: which difference makes nodes slow, or that none does.
#include <fmt/format.h>

#include "base/text.h"
#include "fleet/causes.h"
#include "fleet_facts.h"
#include "fleet_held.h"
#include "fleet_options.h"
#include "ingest/fact_book.h"
#include "report/fleet_causes.h"
#include "say.h"

namespace muster::cmd {
namespace {

// Whether anything was compared at all.
Result<void> compared(const FactTable& table, const NodePerformance& performance, const fleet::Explanation& told) {
  const auto bad = [](const std::string& what, const std::string& why) { return fail(Code::bad_input, what, why); };
  if (told.placed == 0) {
    const std::string has = table.nodes().empty() ? "none" : printable(clipped(table.nodes()[0].name, 60));
    return bad(fmt::format("no measured node has facts: measured are {} ..., facts are of {} ...",
                           printable(clipped(performance.nodes[0], 60)), has),
               "name nodes alike in both; capitals and what is behind the first dot do not matter");
  }
  for (const fleet::MeasureTold& m : told.measures) {
    if (m.nodes > 0) return {};
  }
  return bad(fmt::format("too few nodes of one kind were measured to compare them: {} with facts", told.placed),
             "eight of a kind are the least; muster fleet diff A B compares two");
}

}  // namespace

int run_fleet_explain(const FleetExplainOptions& o) {
  const auto table = load_facts(o.facts);
  if (!table) return say_error(table.error());
  const auto performance = load_performance(o.performance);
  if (!performance) return say_error(performance.error());
  fleet::CauseOptions options;
  options.permutations = o.permutations;
  options.alpha = o.alpha;
  options.least_effect = o.least_effect_pct / 100;
  options.seed = o.seed;
  const fleet::Explanation told = fleet::explain_slow(*table, fact_book(), *performance, options);
  if (auto ok = compared(*table, *performance, told); !ok) return say_error(ok.error());
  const report::CausesView view{*table, fact_book(), *performance, options, told};
  put(o.format == report::Format::json ? report::causes_json(view) : report::render_causes(view, colour_wanted()));
  return finish_output();
}

}  // namespace muster::cmd
