// The price curve as a planner may see it: what an hour costs, and what can be known, in a given hour, of the hours after it.
// Nothing here looks ahead: of the future only the day-before forecasts are read, and the rest is learnt from the past.
#pragma once
#include <cstdint>
#include <vector>

#include "model/price.h"

namespace muster::decide {

// What is known when. The price of the hour that begins is known; later ones only as far as `market` says.
struct Knowledge {
  std::uint32_t publish_hour = 12;  // of the day before: from then on tomorrow's forecasts (or prices) are there
  bool market = false;  // false: forecasts only. true: a day-ahead market, whose prices of today, and of tomorrow from
                        // publish_hour on, are published and binding
};

// Prices with carbon weighed in: per MWh, plus `per_tonne` for each tonne of CO2. Both must begin in the same hour; the shorter
// one counts.
PriceSeries with_carbon(const PriceSeries& price, const PriceSeries& carbon_kg_per_mwh, double per_tonne);

// The best guess, at the beginning of `hour`, for the `n` hours from then on. Hours that forecasts cover: the forecast, moved by
// the error it has shown in the last hours, which fades. Later ones: the level of the last day known, returning to that of the
// last weeks, with the shape of past days of the same sort (working day or weekend).
std::vector<double> outlook(const PriceSeries& p, std::size_t hour, std::size_t n, const Knowledge& k);

}  // namespace muster::decide
