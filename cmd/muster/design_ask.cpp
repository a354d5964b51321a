#include "design_ask.h"

#include "ingest/calibration_file.h"
#include "ingest/collective_rows.h"
#include "ingest/hardware_file.h"
#include "model_choice.h"
#include "predict/calibrate.h"

namespace muster::cmd {

Result<DesignAnswer> ask_designs(const DesignClusterOptions& o, design::GiveUp give_up) {
  DesignAnswer out{o.ask, {}};
  design::ClusterAsk& ask = out.ask;
  if (!o.model.empty()) {
    auto model = chosen_model(o.model);
    if (!model) return tl::unexpected(model.error());
    ask.model = std::move(*model);
  } else if (ask.tokens > 0) {
    return fail(Code::bad_input, "tokens for which model?", "--model NAME");
  }
  auto prices = chosen_prices(o.prices);
  if (!prices) return tl::unexpected(prices.error());
  ask.prices = std::move(*prices);
  ask.classes = shipped_collective_classes();
  ask.stores = store_kinds();
  ask.give_up = std::move(give_up);
  std::vector<std::string> wanted = o.gpus;
  if (wanted.empty()) {
    for (const GpuModel& g : gpu_models()) {
      if (g.peak(ask.dtype) > 0 && ask.prices.gpu.count(g.name) > 0) wanted.push_back(g.name);
    }
  }
  for (const std::string& name : wanted) {
    const auto gpu = chosen_gpu(name);
    if (!gpu) return tl::unexpected(gpu.error());
    auto c = predict::choose_calibration(shipped_calibrations(), shipped_software(), gpu_models(), **gpu, ask.dtype, "",
                                         ask.model.experts > 0);
    if (!c) return tl::unexpected(c.error());
    ask.choices.push_back({**gpu, std::move(c->calibration)});
  }
  auto designed = design::design_clusters(ask);
  if (!designed) return tl::unexpected(designed.error());
  out.found = std::move(*designed);
  return out;
}

}  // namespace muster::cmd
