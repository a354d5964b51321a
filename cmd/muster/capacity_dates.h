// When capacity ends: GPUs, racks, power and a quota, by the bands of a forecast.
#pragma once
#include <string>
#include <vector>

#include "capacity_options.h"
#include "predict/demand.h"
#include "predict/forecast.h"

namespace muster::cmd {

struct RunOutDate {
  std::string what;   // "GPUs", "racks", "power", "quota"
  std::string limit;  // in words
  double value = 0;   // GPU-hours a day of demand, or GPU-hours left of a quota, at which it ends
  predict::RunOut when;
};

// GPUs, racks and power end where the mean demand of a week needs them; a quota where the sum of the days does.
std::vector<RunOutDate> run_out_dates(const predict::DemandDays& demand, predict::ForecastMethod method,
                                      const CapacityLimits& limits, std::size_t horizon, double growth);

// Says on stderr where a record asks for many times what there is: rarely the site, mostly durations in milliseconds.
void warn_of_units(const predict::DemandDays& demand, std::uint64_t gpus);

// The day of this lead, "2017-12-24"; "not within N days".
std::string date_of(const predict::DemandDays& demand, const std::optional<std::size_t>& lead, std::size_t horizon);
Time time_of_lead(const predict::DemandDays& demand, std::size_t lead);

}  // namespace muster::cmd
