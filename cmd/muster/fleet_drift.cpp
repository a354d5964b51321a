// muster fleet drift: who differs from what is declared, or from its own kind.
#include "report/fleet_drift.h"

#include <fmt/core.h>

#include "base/node_list.h"
#include "base/text.h"
#include "fleet_facts.h"
#include "fleet_held.h"
#include "fleet_options.h"
#include "ingest/fact_book.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr int kFindings = 6;

std::string shown(const report::DriftView& view, report::Format format) {
  switch (format) {
    case report::Format::json: return report::drift_json(view);
    case report::Format::jsonl: return report::drift_jsonl(view);
    case report::Format::csv: return report::drift_csv(view);
    default: return report::render_drift(view, colour_wanted());
  }
}

}  // namespace

int run_fleet_drift(const FleetDriftOptions& o) {
  const auto table = load_facts(o.facts);
  if (!table) return say_error(table.error());
  std::vector<std::string> nodes;
  for (const std::string& list : o.nodes) {
    const auto names = expand_node_list(list);
    if (!names) return say_error(names.error());
    for (const std::string& name : *names) {
      if (table->find_node(name) < 0)
        return say_error(
            {Code::not_found, fmt::format("there are no facts of {}", printable(name)), "muster fleet inventory lists nodes"});
    }
    nodes.insert(nodes.end(), names->begin(), names->end());
  }
  const auto declared = load_declared(o.declared);
  if (!declared) return say_error(declared.error());
  fleet::GoldenOptions options;
  options.share = o.share;
  const fleet::Golden golden = fleet::hold_against_kind(*table, fact_book(), *declared, options);
  const report::DriftView view = report::drift_view(*table, fact_book(), golden, {nodes, o.all});
  put(shown(view, o.format));
  const int output = finish_output();
  if (output != 0 || !view.rows.empty()) return output != 0 ? output : kFindings;
  if (view.compared || !declared->empty()) return 0;
  return say_error({Code::unreachable,
                    fmt::format("nobody was compared: there is no kind with {} nodes of which enough is known", options.least),
                    "gather more facts (muster fleet inventory --ssh NODES), or say what is right: --declared FILE"});
}

}  // namespace muster::cmd
