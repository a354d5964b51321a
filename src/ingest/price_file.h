// Hourly prices or carbon intensities: a CSV with a time, the value of that hour and the forecast made for it the day before.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/price.h"

namespace muster {

// Files may be gzip. Columns by name: timestamp or timestamp_utc ("2018-01-31 23:00:00" or "2018-01-31T23:00Z"), a value
// (price_per_mwh or actual_g_per_kwh) and a forecast (forecast_per_mwh or forecast_24h_g_per_kwh; may be empty). Others are
// ignored. Hours must rise. Missing ones are taken to be as the same hour of the day before, and counted; more than four days in
// a row, or one hour in twenty, are refused. Errors are "file:line: reason".
// Which of them is meant: a file with the other is refused, and the column of forecasts may be missing.
enum class Hourly : std::uint8_t { either, price, carbon };
Result<PriceSeries> parse_prices(std::string_view bytes, std::string_view file, Hourly which = Hourly::either);

// Money, carbon or both: price_per_mwh with forecast_per_mwh, carbon_g_per_kwh (or actual_g_per_kwh) with
// carbon_forecast_g_per_kwh (or forecast_24h_g_per_kwh). Forecasts may be missing.
Result<PowerSeries> parse_power(std::string_view bytes, std::string_view file);

// How many hours were made up and how, for who reads the figures; empty where none were.
std::string about_missing(const PriceSeries& series);

}  // namespace muster
