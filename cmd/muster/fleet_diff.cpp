// muster fleet diff: what differs between two nodes; of two runs of a job, fleet_diff_jobs.cpp tells.
#include <fmt/core.h>

#include "base/text.h"
#include "fleet_facts.h"
#include "fleet_options.h"
#include "ingest/fact_book.h"
#include "report/fleet_nodes.h"
#include "say.h"

namespace muster::cmd {

int run_fleet_diff(const FleetDiffOptions& o) {
  if (o.what == FleetDiffOptions::What::jobs) return run_fleet_diff_jobs(o);
  const auto table = load_facts(o.facts);
  if (!table) return say_error(table.error());
  std::array<std::size_t, 2> places{};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& name = i == 0 ? o.a : o.b;
    const std::ptrdiff_t n = table->find_node(name);
    if (n < 0) {
      std::vector<std::string> names;
      for (const FactNode& node : table->nodes()) names.push_back(node.name);
      const auto close = nearest(name, names);
      return say_error({Code::not_found, fmt::format("there are no facts of {}", printable(name)),
                        close ? fmt::format("did you mean {}?", printable(*close)) : "muster fleet inventory FACTS lists nodes"});
    }
    places[i] = static_cast<std::size_t>(n);
  }
  const report::NodesView view{*table, fact_book(), places[0], places[1], o.all};
  put(o.format == report::Format::json ? report::nodes_json(view) : report::render_nodes(view, colour_wanted()));
  return finish_output();
}

}  // namespace muster::cmd
