#include "ingest/price_file.h"

#include <fmt/core.h>

#include <limits>
#include <optional>

#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/gunzip.h"

namespace muster {
namespace {

constexpr std::int64_t kGapMax_h = 4 * 24;
constexpr double kFilledMax = 0.05;  // of all hours: beyond that the series is more ours than the market's
constexpr std::size_t kDay = 24;
constexpr const char* kNext = "give hourly rows: timestamp, value, forecast";
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

struct Columns {
  int at = -1;
  int value = -1;
  int forecast = -1;  // -1: none was made for any hour
};

Columns price_columns(const Csv& csv) {
  return {find_column(csv, {"timestamp", "timestamp_utc"}), csv.column("price_per_mwh"), csv.column("forecast_per_mwh")};
}

Columns carbon_columns(const Csv& csv) {
  return {find_column(csv, {"timestamp", "timestamp_utc"}), find_column(csv, {"actual_g_per_kwh", "carbon_g_per_kwh"}),
          find_column(csv, {"forecast_24h_g_per_kwh", "carbon_forecast_g_per_kwh"})};
}

// A missing hour is like the same hour of the day before, which is closer than the hour before the gap: prices and carbon have
// days. No forecast was made for it.
void fill(PriceSeries& s, std::int64_t first_hour, std::int64_t missing) {
  if (static_cast<std::size_t>(missing) > s.longest_gap) {
    s.longest_gap = static_cast<std::size_t>(missing);
    s.longest_gap_at = Time{0} + hours(first_hour);
  }
  for (std::int64_t i = 0; i < missing; ++i, ++s.filled) {
    const std::size_t n = s.actual.size();
    s.actual.push_back(s.actual[n >= kDay ? n - kDay : n - 1]);
    s.forecast.push_back(std::numeric_limits<double>::quiet_NaN());
  }
}

Result<PriceSeries> series_of(const Csv& csv, const Columns& c, std::string_view file) {
  const auto bad = [&](int line, const std::string& why) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file, line, why), kNext);
  };
  PriceSeries out;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    const auto& row = csv.rows[i];
    const int line = csv.lines[i];
    const auto cell = [&](int column) { return trim(row[static_cast<std::size_t>(column)]); };
    const auto hour = hour_of(cell(c.at));
    if (!hour) return bad(line, fmt::format("'{}' is no whole hour", printable(cell(c.at))));
    const auto v = value_of(cell(c.value));
    if (!v) return bad(line, fmt::format("'{}' is no value of an hour", printable(cell(c.value))));
    std::optional<double> f = std::numeric_limits<double>::quiet_NaN();
    if (c.forecast >= 0 && !cell(c.forecast).empty()) f = value_of(cell(c.forecast));
    if (!f) return bad(line, fmt::format("'{}' is no forecast of an hour", printable(cell(c.forecast))));
    if (i == 0) {
      out.begins = Time{0} + hours(*hour);
    } else {
      if (*hour <= last) return bad(line, "the hours must rise: this one is not later than the one before");
      const std::int64_t missing = *hour - last - 1;
      if (missing > kGapMax_h) return bad(line, fmt::format("{} hours are missing before it, more than four days", missing));
      fill(out, last + 1, missing);
    }
    out.actual.push_back(*v);
    out.forecast.push_back(*f);
    last = *hour;
  }
  if (out.actual.empty()) return bad(1, "no hours");
  if (out.hours() >= kDay && static_cast<double>(out.filled) > kFilledMax * static_cast<double>(out.hours())) {
    return fail(Code::bad_input,
                fmt::format("{}: {} of {} hours are missing, more than one in twenty", file, out.filled, out.hours()), kNext);
  }
  return out;
}

Result<Csv> read_table(std::string_view bytes, std::string_view file) {
  const auto text = gunzip_if_gzip(bytes);
  if (!text) return fail(text.error().code, fmt::format("{}: {}", file, text.error().what), text.error().next);
  return parse_csv(*text, file);
}

}  // namespace

Result<PriceSeries> parse_prices(std::string_view bytes, std::string_view file, Hourly which) {
  const auto csv = read_table(bytes, file);
  if (!csv) return tl::unexpected(csv.error());
  Columns c = which == Hourly::carbon ? carbon_columns(*csv) : price_columns(*csv);
  if (c.value < 0 && which == Hourly::either) c = carbon_columns(*csv);
  if (which != Hourly::either && (c.at < 0 || c.value < 0)) {
    return fail(Code::bad_input,
                fmt::format("{}:1: the columns timestamp and {} are needed", file,
                            which == Hourly::price ? "price_per_mwh" : "actual_g_per_kwh (or carbon_g_per_kwh)"),
                kNext);
  }
  if (c.at < 0 || c.value < 0 || (c.forecast < 0 && which == Hourly::either)) {
    return fail(Code::bad_input,
                fmt::format("{}:1: the columns timestamp, price_per_mwh and forecast_per_mwh are needed (or timestamp_utc, "
                            "actual_g_per_kwh and forecast_24h_g_per_kwh)",
                            file),
                kNext);
  }
  return series_of(*csv, c, file);
}

Result<PowerSeries> parse_power(std::string_view bytes, std::string_view file) {
  const auto csv = read_table(bytes, file);
  if (!csv) return tl::unexpected(csv.error());
  const Columns price = price_columns(*csv), carbon = carbon_columns(*csv);
  if (price.at < 0 || (price.value < 0 && carbon.value < 0)) {
    return fail(Code::bad_input,
                fmt::format("{}:1: the column timestamp is needed, and price_per_mwh, carbon_g_per_kwh or both", file),
                "give hourly rows: timestamp, price_per_mwh, forecast_per_mwh, carbon_g_per_kwh, carbon_forecast_g_per_kwh");
  }
  PowerSeries out;
  if (carbon.value >= 0) {
    auto s = series_of(*csv, carbon, file);
    if (!s) return tl::unexpected(s.error());
    out.carbon = std::move(*s);
  }
  if (price.value >= 0) {
    auto s = series_of(*csv, price, file);
    if (!s) return tl::unexpected(s.error());
    out.price = std::move(*s);
    out.has_price = true;
  } else {
    out.price = out.carbon;
    out.price.actual.assign(out.carbon.hours(), 0);
    out.price.forecast.assign(out.carbon.hours(), 0);
  }
  return out;
}

std::string about_missing(const PriceSeries& s) {
  if (s.filled == 0) return {};
  return fmt::format(
      "{} of {} hours are missing, the most without a break {} from {}; each is taken to be as the same hour of the day before",
      s.filled, s.hours(), s.longest_gap, render_utc(s.longest_gap_at));
}

}  // namespace muster
