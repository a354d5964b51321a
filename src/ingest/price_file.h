// Hourly prices or carbon intensities: a CSV with a time, the value of that hour and the forecast made for it the day before.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/price.h"

namespace muster {

// Columns by name: timestamp or timestamp_utc ("2018-01-31 23:00:00" or "2018-01-31T23:00Z"), a value (price_per_mwh or
// actual_g_per_kwh) and a forecast (forecast_per_mwh or forecast_24h_g_per_kwh; may be empty). Others are ignored. Hours must
// rise; missing ones, up to a week, repeat the hour before and are counted. Errors are "file:line: reason".
Result<PriceSeries> parse_prices(std::string_view text, std::string_view file);

}  // namespace muster
