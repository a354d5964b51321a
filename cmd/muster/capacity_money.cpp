#include "capacity_money.h"

#include <fmt/core.h>

#include "base/text.h"
#include "ingest/hardware_file.h"
#include "report/units.h"

namespace muster::cmd {

Result<NodePrice> node_price(const std::optional<double>& given, const std::string& gpu_said, const std::string& model,
                             std::uint32_t gpus_per_node, double kw_per_node) {
  if (given) return NodePrice{*given, "--node-usd-year"};
  const HardwarePrices& p = hardware_prices();
  const std::string gpu = gpu_said.empty() ? lower(model) : gpu_said;
  const auto at = p.gpu.find(gpu);
  if (at == p.gpu.end() && gpu_said.empty())
    return NodePrice{{}, fmt::format("no price of a {} is known: give --node-usd-year, or --gpu", printable(model))};
  if (at == p.gpu.end()) {
    std::string known;
    for (const auto& [name, usd] : p.gpu) known += (known.empty() ? "" : ", ") + name;
    return fail(Code::bad_input, fmt::format("no price of a {} is known", gpu), "one of " + known + ", or give --node-usd-year");
  }
  const double capital = at->second * gpus_per_node / kNodeYears;
  const double hall = p.hall_kw_month * kw_per_node * 12;
  const auto source = p.sources.find("gpu " + gpu);
  return NodePrice{
      capital + hall,
      fmt::format("{} GPUs ({}) at {} over {:g} years, and {:g} kW of hall at {} a month ({}); without interest, network and "
                  "people",
                  gpus_per_node, gpu, report::render_money(at->second, "USD"), kNodeYears, kw_per_node,
                  report::render_money(p.hall_kw_month, "USD"),
                  source == p.sources.end() ? std::string("prices.csv") : source->second)};
}

}  // namespace muster::cmd
