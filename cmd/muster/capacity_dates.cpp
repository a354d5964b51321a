#include "capacity_dates.h"

#include <fmt/core.h>

#include <cmath>

#include "report/units.h"
#include "say.h"

namespace muster::cmd {

using predict::DayBand;

std::vector<RunOutDate> run_out_dates(const predict::DemandDays& demand, predict::ForecastMethod method, const CapacityLimits& l,
                                      std::size_t horizon, double growth) {
  std::vector<RunOutDate> out;
  const auto& days = demand.gpu_hours;
  std::vector<DayBand> weeks = predict::roll(days, method, predict::LeadSpan::week, horizon).ahead;
  predict::grow(weeks, growth);
  const double share = l.full_pct / 100;
  const auto add = [&](std::string what, std::string limit, double gpus) {
    const double value = 24 * gpus * share;
    out.push_back({std::move(what), std::move(limit), value, predict::run_out(weeks, value)});
  };
  const auto count = [](double n) { return report::render_count(static_cast<std::int64_t>(n)); };
  const auto now = static_cast<double>(l.gpus);
  if (l.gpus > 0) add("GPUs", fmt::format("{} GPUs, {:g} % full", count(now), l.full_pct), now);
  if (l.gpus > 0 && l.racks_free) {
    const double more = static_cast<double>(*l.racks_free) * l.nodes_per_rack * l.gpus_per_node;
    add("racks",
        fmt::format("{} free, {} nodes each: {} GPUs in all", report::counted(static_cast<std::int64_t>(*l.racks_free), "rack"),
                    l.nodes_per_rack, count(now + more)),
        now + more);
  }
  if (l.gpus > 0 && l.kw_free) {
    const double more = std::floor(*l.kw_free / l.node_kw() + 1e-9) * l.gpus_per_node;
    add("power", fmt::format("{:g} kW free, {:g} a node: {} GPUs in all", *l.kw_free, l.node_kw(), count(now + more)),
        now + more);
  }
  if (l.quota_gpu_hours) {
    std::vector<DayBand> totals = predict::roll(days, method, predict::LeadSpan::total, horizon).ahead;
    predict::grow_totals(totals, growth);
    out.push_back({"quota", fmt::format("{} GPU-hours left", count(*l.quota_gpu_hours)), *l.quota_gpu_hours,
                   predict::run_out(totals, *l.quota_gpu_hours)});
  }
  return out;
}

void warn_of_units(const predict::DemandDays& demand, std::uint64_t gpus) {
  constexpr double kOverfull = 5;
  double sum = 0;
  for (const double h : demand.gpu_hours) sum += h;
  const double there = 24.0 * static_cast<double>(gpus) * static_cast<double>(demand.gpu_hours.size());
  if (there <= 0 || sum < kOverfull * there) return;
  say(fmt::format("the record asks for {:.0f} times what {} GPUs are: is duration in seconds, and are these all the GPUs?",
                  sum / there, report::render_count(static_cast<std::int64_t>(gpus))));
}

Time time_of_lead(const predict::DemandDays& demand, std::size_t lead) {
  return predict::day_start(demand, demand.gpu_hours.size() + lead - 1);
}

std::string date_of(const predict::DemandDays& demand, const std::optional<std::size_t>& lead, std::size_t horizon) {
  if (!lead) return fmt::format("not within {} days", horizon);
  return render_utc(time_of_lead(demand, *lead)).substr(0, 10);
}

}  // namespace muster::cmd
