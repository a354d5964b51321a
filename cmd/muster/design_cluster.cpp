// muster design cluster: from a need to compared designs, and to the file that the twin runs.
#include <fmt/format.h>

#include "commands.h"
#include "design_ask.h"
#include "report/clusters.h"
#include "report/document.h"
#include "report/ib_net.h"
#include "say.h"

namespace muster::cmd {
namespace {

// All as a document, or the one that is shown.
void put_json(const DesignAnswer& answer, std::uint32_t show) {
  const Value all = report::clusters_value(answer.found, answer.ask.years);
  put(report::render_json(show > 0 ? (*all.find("designs")->array())[show - 1] : all));
}

}  // namespace

int run_design_cluster(const DesignClusterOptions& o) {
  const auto answer = ask_designs(o);
  if (!answer) return say_error(answer.error());
  const auto& found = answer->found.designs;
  for (const std::string& line : answer->found.left_out) say(line);
  if (o.show > found.size()) {
    return say_error({Code::bad_input, fmt::format("there is no design {}", o.show), fmt::format("1 to {}", found.size())});
  }
  if (o.emit) {
    const design::ClusterDesign& d = found[o.show > 0 ? o.show - 1 : 0];
    if (*o.emit == ClusterFile::cluster) {
      put(report::render_cluster_file(d));
    } else {
      const auto fabric = design::build_fabric(d.fabric);
      if (!fabric) return say_error(fabric.error());
      put(report::render_ib_net(*fabric));
    }
    return finish_output();
  }
  if (o.format == report::Format::json) {
    put_json(*answer, o.show);
    return finish_output();
  }
  if (o.show > 0) {
    for (const std::string& line : report::say_cluster(found[o.show - 1], answer->ask.years)) put(line + "\n");
    return finish_output();
  }
  const report::Table t = report::cluster_table(found);
  put(o.format == report::Format::csv
          ? report::render_csv(t, true)
          : report::render_table(t, {.wide = o.format == report::Format::wide, .colour = colour_wanted()}));
  say("--show N has one of them line by line; --emit cluster|fabric its files");
  return finish_output();
}

}  // namespace muster::cmd
