// What power costs, hour by hour: the value of each hour, and what was forecast for it the day before.
#pragma once
#include <string>
#include <vector>

#include "base/time.h"

namespace muster {

struct PriceSeries {
  Time begins;                   // of the first hour, in the market's own time
  std::vector<double> actual;    // per MWh, or kg of CO2 per MWh
  std::vector<double> forecast;  // of the same hours, made the day before; NaN: none was made
  std::size_t filled = 0;        // hours that the source lacks and that were made up
  std::size_t longest_gap = 0;   // of them, without a break
  Time longest_gap_at;           // the first of those

  std::size_t hours() const { return actual.size(); }
};

// Money and carbon of the same hours, where both are known.
struct PowerSeries {
  PriceSeries price;   // zeros where only carbon is known
  PriceSeries carbon;  // no hours: not known
  bool has_price = false;
};

}  // namespace muster
