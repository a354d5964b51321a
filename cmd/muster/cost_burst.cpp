// muster cost burst: a peak of work rented, waited for, or bought for.
#include "commands.h"
#include "cost_options.h"
#include "cost_site.h"
#include "predict/ownership.h"
#include "report/burst.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {

int run_cost_burst(const CostBurstOptions& o) {
  report::BurstView view;
  view.ask = o.ask;
  if (!o.site.site.empty()) {
    const auto site = chosen_site(o.site);
    if (!site) return say_error(site.error());
    const predict::YearlyCost cost = predict::yearly_cost(*site);
    // GPUs for a peak stand still otherwise: an hour owned is what they cost.
    if (view.ask.buy_usd_per_gpu_hour == 0) view.ask.buy_usd_per_gpu_hour = cost.rate(predict::GpuHour::owned);
    if (view.ask.own_usd_per_gpu_hour == 0) {
      CostSite busier = *site;
      busier.load = Estimate(1);
      CostSite idle = *site;
      idle.load = Estimate(0);
      const double power = predict::yearly_cost(busier).of(CostClass::energy) - predict::yearly_cost(idle).of(CostClass::energy);
      view.ask.own_usd_per_gpu_hour = power / cost.gpu_hours[0];
    }
  }
  view.own_free = view.ask.own_gpus > 0 && view.ask.own_usd_per_gpu_hour == 0;
  if (!o.from.empty()) view.from = report::parse_utc(o.from);
  auto answer = predict::burst(view.ask);
  if (!answer) return say_error(answer.error());
  view.answer = std::move(*answer);
  put(o.format == report::Format::json ? report::burst_json(view) : report::burst_text(view, colour_wanted()));
  return finish_output();
}

}  // namespace muster::cmd
