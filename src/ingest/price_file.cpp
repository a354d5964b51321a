#include "ingest/price_file.h"

#include <fmt/core.h>

#include <limits>
#include <optional>

#include "base/text.h"
#include "ingest/csv.h"

namespace muster {
namespace {

constexpr std::int64_t kGapMax_h = 7 * 24;
constexpr double kValueMax = 1e6;  // dearer than any hour ever was

int find_column(const Csv& csv, std::initializer_list<std::string_view> names) {
  for (const std::string_view n : names) {
    if (const int c = csv.column(n); c >= 0) return c;
  }
  return -1;
}

// Days since 1970-01-01 of a civil date, proleptic Gregorian.
std::int64_t days_of(std::int64_t y, std::int64_t m, std::int64_t d) {
  y -= m <= 2 ? 1 : 0;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t yoe = y - era * 400;
  const std::int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

// "2018-01-31 23:00:00", "2018-01-31T23:00Z": the whole hour as hours since 1970.
std::optional<std::int64_t> hour_of(std::string_view s) {
  if (s.size() < 16 || s[4] != '-' || s[7] != '-' || (s[10] != ' ' && s[10] != 'T') || s[13] != ':') return std::nullopt;
  const auto y = parse_uint(s.substr(0, 4));
  const auto m = parse_uint(s.substr(5, 2));
  const auto d = parse_uint(s.substr(8, 2));
  const auto h = parse_uint(s.substr(11, 2));
  const std::string_view rest = s.substr(14);
  if (!y || !m || !d || !h || *m < 1 || *m > 12 || *d < 1 || *d > 31 || *h > 23) return std::nullopt;
  if (rest != "00" && rest != "00Z" && rest != "00:00" && rest != "00:00Z") return std::nullopt;
  return days_of(static_cast<std::int64_t>(*y), static_cast<std::int64_t>(*m), static_cast<std::int64_t>(*d)) * 24 +
         static_cast<std::int64_t>(*h);
}

std::optional<double> value_of(std::string_view s) {
  const auto v = parse_double(s);
  if (!v || !(*v > -kValueMax && *v < kValueMax)) return std::nullopt;
  return v;
}

}  // namespace

Result<PriceSeries> parse_prices(std::string_view text, std::string_view file) {
  auto csv = parse_csv(text, file);
  if (!csv) return tl::unexpected(csv.error());
  const auto bad = [&](int line, const std::string& why) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file, line, why), "give hourly rows: timestamp, value, forecast");
  };
  const int at = find_column(*csv, {"timestamp", "timestamp_utc"});
  const int value = find_column(*csv, {"price_per_mwh", "actual_g_per_kwh"});
  const int forecast = find_column(*csv, {"forecast_per_mwh", "forecast_24h_g_per_kwh"});
  if (at < 0 || value < 0 || forecast < 0) {
    return bad(1,
               "the columns timestamp, price_per_mwh and forecast_per_mwh are needed (or timestamp_utc, actual_g_per_kwh "
               "and forecast_24h_g_per_kwh)");
  }
  PriceSeries out;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    const auto& row = csv->rows[i];
    const int line = csv->lines[i];
    const auto cell = [&](int c) { return trim(row[static_cast<std::size_t>(c)]); };
    const auto hour = hour_of(cell(at));
    if (!hour) return bad(line, fmt::format("'{}' is no whole hour", printable(cell(at))));
    const auto v = value_of(cell(value));
    if (!v) return bad(line, fmt::format("'{}' is no value of an hour", printable(cell(value))));
    std::optional<double> f = std::numeric_limits<double>::quiet_NaN();
    if (!cell(forecast).empty()) f = value_of(cell(forecast));
    if (!f) return bad(line, fmt::format("'{}' is no forecast of an hour", printable(cell(forecast))));
    if (i == 0) {
      out.begins = Time{0} + hours(*hour);
    } else {
      if (*hour <= last) return bad(line, "the hours must rise: this one is not later than the one before");
      if (*hour - last > kGapMax_h) return bad(line, fmt::format("{} hours are missing before it", *hour - last - 1));
      for (; last + 1 < *hour; ++last, ++out.filled) {
        out.actual.push_back(out.actual.back());
        out.forecast.push_back(out.forecast.back());
      }
    }
    out.actual.push_back(*v);
    out.forecast.push_back(*f);
    last = *hour;
  }
  if (out.actual.empty()) return bad(1, "no hours");
  return out;
}

}  // namespace muster
