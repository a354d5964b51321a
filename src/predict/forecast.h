// What a site's days will ask for, from the days it had: point forecasts by three methods, bands that are held to what the same
// method got wrong before, and how good all of them were on the site's own history. A method that does not beat "as a week ago"
// there is not shown as a forecast.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace muster::predict {

// damped_trend: additive Holt-Winters with a damped trend and fixed weights. On months of days, weights that are searched for are
// fitted to noise. weekday_mean: of the same weekday in the last four weeks.
enum class ForecastMethod : std::uint8_t { damped_trend, seasonal_naive, weekday_mean };
constexpr std::size_t kForecastMethods = 3;
constexpr std::array<std::string_view, kForecastMethods> names(ForecastMethod) {
  return {"damped Holt-Winters", "as a week ago", "mean of four weeks"};
}

constexpr std::size_t kSeasonDays = 7;
constexpr std::size_t kForecastDaysMin = 14;  // of history, before anything is said
constexpr double kLevelWeight = 0.2, kTrendWeight = 0.02, kSeasonWeight = 0.1, kDamping = 0.9;

// The `horizon` days that follow `past`, which has kForecastDaysMin values or more; none is below 0.
std::vector<double> forecast_days(std::span<const double> past, ForecastMethod method, std::size_t horizon);

// What is said of a lead: that day; the mean of the week up to it; the sum of all days up to it.
enum class LeadSpan : std::uint8_t { day, week, total };

// Bands are as wide as the quantile of the absolute errors that the method made at this lead and `near` leads beside it, over the
// origins whose outcome was known then. The share that is asked of it moves by `step` with every hit and miss (adaptive conformal
// inference): in the long run as many days lie within as were promised, however the site changes.
struct BandSpec {
  double level = 0.8;
  double step = 0.05;
  std::size_t near = 3;
  std::size_t errors_min = 10;  // origins whose outcome is known, before a band is given
};

struct DayBand {
  double low = 0, point = 0, high = 0;
  bool checked = true;  // false: farther ahead than the history can check; widened from the last lead that is, as a random walk's
};

struct LeadScore {
  std::uint64_t bands = 0, held = 0;  // bands given with what was known at their time, and how many held what came
};

struct Rolling {
  std::vector<DayBand> ahead;     // leads 1 to the horizon, after the last day; empty: too short a history for bands
  std::vector<LeadScore> scores;  // of the same leads
};
// Every day of the past from kForecastDaysMin on is an origin; nothing after it is looked at there.
Rolling roll(std::span<const double> days, ForecastMethod method, LeadSpan span, std::size_t horizon, const BandSpec& spec = {});

// Sum of absolute errors over the sum of what came, over leads 1 to the horizon from every origin with five weeks of history or
// more. None: too short.
constexpr std::size_t kFirstOrigin = 35;
std::optional<double> wape(std::span<const double> days, ForecastMethod method, std::size_t horizon);

struct HorizonScore {
  std::size_t days = 0;  // leads 1 to this
  std::array<std::optional<double>, kForecastMethods> wape;
  std::array<std::optional<double>, kForecastMethods> coverage;  // share of days within their bands
  std::array<std::uint64_t, kForecastMethods> bands{};           // that this share is of
};

struct ForecastScores {
  std::vector<HorizonScore> horizons;
  ForecastMethod shown = ForecastMethod::seasonal_naive;
  // Share of the error of seasonal_naive that the damped trend saves, at its worst horizon; below 0: it loses. None: too short.
  std::optional<double> skill;
};
ForecastScores score_forecasts(std::span<const double> days, std::span<const std::size_t> horizons, const BandSpec& spec = {});

// The leads, from 1, at which a limit is reached with a chance of 10, 50 and 90 % (of 80 % bands). None: not within the horizon.
struct RunOut {
  std::optional<std::size_t> p10, p50, p90;
};
RunOut run_out(std::span<const DayBand> bands, double limit);

// The same bands for a demand that grows by so much a year besides, such as 0.4.
void grow(std::vector<DayBand>& bands, double per_year);
void grow_totals(std::vector<DayBand>& totals, double per_year);

}  // namespace muster::predict
