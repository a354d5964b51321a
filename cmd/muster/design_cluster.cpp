// muster design cluster: from a need to compared designs, and to the file that the twin runs.
#include <fmt/format.h>

#include "base/text.h"
#include "commands.h"
#include "files.h"
#include "ingest/calibration_file.h"
#include "ingest/collective_rows.h"
#include "ingest/hardware_file.h"
#include "model_choice.h"
#include "predict/calibrate.h"
#include "report/clusters.h"
#include "report/ib_net.h"
#include "say.h"

namespace muster::cmd {

int run_design_cluster(const DesignClusterOptions& o) {
  design::ClusterAsk ask = o.ask;
  if (!o.model.empty()) {
    auto model = chosen_model(o.model);
    if (!model) return say_error(model.error());
    ask.model = std::move(*model);
  } else if (ask.tokens > 0) {
    return say_error({Code::bad_input, "tokens for which model?", "--model NAME"});
  }
  ask.prices = hardware_prices();
  if (!o.prices.empty()) {
    const auto text = read_file(o.prices);
    if (!text) return say_error(text.error());
    auto read = parse_hardware_prices(*text, o.prices);
    if (!read) return say_error(read.error());
    ask.prices = std::move(*read);
  }
  ask.classes = shipped_collective_classes();
  ask.stores = store_kinds();
  std::vector<std::string> wanted = o.gpus;
  if (wanted.empty()) {
    for (const GpuModel& g : gpu_models()) {
      if (g.peak(ask.dtype) > 0 && ask.prices.gpu.count(g.name) > 0) wanted.push_back(g.name);
    }
  }
  for (const std::string& name : wanted) {
    const auto gpu = chosen_gpu(name);
    if (!gpu) return say_error(gpu.error());
    auto c = predict::choose_calibration(shipped_calibrations(), shipped_software(), gpu_models(), **gpu, ask.dtype, "",
                                         ask.model.experts > 0);
    if (!c) return say_error(c.error());
    ask.choices.push_back({**gpu, std::move(c->calibration)});
  }
  const auto designed = design::design_clusters(ask);
  if (!designed) return say_error(designed.error());
  const auto* found = &designed->designs;
  for (const std::string& line : designed->left_out) say(line);
  if (o.show > found->size()) {
    return say_error({Code::bad_input, fmt::format("there is no design {}", o.show), fmt::format("1 to {}", found->size())});
  }
  if (o.emit) {
    const design::ClusterDesign& d = (*found)[o.show > 0 ? o.show - 1 : 0];
    if (*o.emit == ClusterFile::cluster) {
      put(report::render_cluster_file(d));
    } else {
      const auto fabric = design::build_fabric(d.fabric);
      if (!fabric) return say_error(fabric.error());
      put(report::render_ib_net(*fabric));
    }
    return finish_output();
  }
  if (o.show > 0) {
    for (const std::string& line : report::say_cluster((*found)[o.show - 1], ask.years)) put(line + "\n");
    return finish_output();
  }
  const report::Table t = report::cluster_table(*found);
  put(o.format == report::Format::csv
          ? report::render_csv(t, true)
          : report::render_table(t, {.wide = o.format == report::Format::wide, .colour = colour_wanted()}));
  say("--show N has one of them line by line; --emit cluster|fabric its files");
  return finish_output();
}

}  // namespace muster::cmd
