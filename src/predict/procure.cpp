#include "predict/procure.h"

#include <cmath>

#include "base/math.h"

namespace muster::predict {
namespace {

constexpr double kWeeksPerYear = 365.25 / 7;
constexpr double kMeanMax = 1e6;

Duration weeks(double n) { return from_seconds(n * 7 * 86400); }

}  // namespace

std::uint64_t spares_for(std::uint64_t units, double per_year, double lead_weeks, double chance) {
  const double mean = std::min(static_cast<double>(units) * per_year * lead_weeks / kWeeksPerYear, kMeanMax);
  if (mean <= 0) return 0;
  // P(X <= s), summed from the first; by logarithms, since exp(-mean) is nothing where mean is large.
  const double log_mean = det_log(mean), far = mean + 40 * std::sqrt(mean) + 40;
  double sum = det_exp(-mean), log_p = -mean;
  std::uint64_t s = 0;
  while (1 - sum > chance && static_cast<double>(s) < far) {
    ++s;
    log_p += log_mean - det_log(static_cast<double>(s));
    sum += det_exp(log_p);
  }
  return s;
}

Purchase plan_purchase(const PurchaseAsk& ask, const ProcurementTerms& terms) {
  Purchase out;
  const std::uint64_t gpus = std::uint64_t{ask.nodes} * ask.gpus_per_node;
  const std::uint64_t half = kSwitchPorts / 2;
  const bool one_switch = gpus <= kSwitchPorts;
  const std::uint64_t leaves = one_switch ? 1 : (gpus + half - 1) / half;
  const std::uint64_t up = one_switch ? 0 : leaves * half;
  const std::uint64_t spines = (up + kSwitchPorts - 1) / kSwitchPorts;
  const auto add = [&](std::string name, BuyItem kind, std::uint64_t needed, std::uint64_t installed, double unit_usd) {
    const BuyTerms& t = terms[static_cast<std::size_t>(kind)];
    SheetLine l;
    l.item = std::move(name);
    l.terms = kind;
    l.needed = needed;
    l.spares = spares_for(installed, t.per_year, t.weeks_high);
    l.unit_usd = unit_usd;
    l.usd = unit_usd * static_cast<double>(needed + l.spares);
    l.usd_low = l.usd * t.price_low;
    l.usd_high = l.usd * t.price_high;
    l.weeks_low = t.weeks_low;
    l.weeks_high = t.weeks_high;
    const Duration before = weeks(t.weeks_high + ask.install_weeks);
    if (ask.need_p50) l.order_p50 = *ask.need_p50 - before;
    if (ask.need_p10) l.order_p10 = *ask.need_p10 - before;
    out.usd_low += l.usd_low;
    out.usd += l.usd;
    out.usd_high += l.usd_high;
    if (l.needed + l.spares > 0) out.lines.push_back(std::move(l));
  };
  const std::uint64_t all = gpus + ask.gpus_now;
  add("server of " + std::to_string(ask.gpus_per_node) + " GPUs", BuyItem::server, ask.nodes, 0, ask.gpu_usd * ask.gpus_per_node);
  add("GPU, spare", BuyItem::gpu, 0, all, ask.gpu_usd);
  add("switch, 64 ports", BuyItem::switch_, leaves + spines, leaves + spines, ask.switch_usd);
  add("cable, node to leaf", BuyItem::cable, gpus, all, ask.cable_usd);
  add("cable, leaf to spine", BuyItem::cable, up, up, ask.fibre_usd);
  add("transceiver", BuyItem::transceiver, 2 * up, 2 * up, ask.transceiver_usd);
  return out;
}

}  // namespace muster::predict
