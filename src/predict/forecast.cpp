#include "predict/forecast.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/math.h"

namespace muster::predict {
namespace {

std::vector<double> damped_trend(std::span<const double> past, std::size_t horizon) {
  std::array<double, kSeasonDays> season{};
  double level = 0, trend = 0;
  for (std::size_t i = 0; i < kSeasonDays; ++i) level += past[i] / kSeasonDays;
  for (std::size_t i = 0; i < kSeasonDays; ++i) season[i] = past[i] - level;
  for (std::size_t i = kSeasonDays; i < past.size(); ++i) {
    double& s = season[i % kSeasonDays];
    const double before = level;
    level = kLevelWeight * (past[i] - s) + (1 - kLevelWeight) * (level + kDamping * trend);
    trend = kTrendWeight * (level - before) + (1 - kTrendWeight) * kDamping * trend;
    s = kSeasonWeight * (past[i] - level) + (1 - kSeasonWeight) * s;
  }
  std::vector<double> out;
  double damped = 0, power = 1;
  for (std::size_t h = 1; h <= horizon; ++h) {
    power *= kDamping;
    damped += power;
    out.push_back(std::max(0.0, level + damped * trend + season[(past.size() + h - 1) % kSeasonDays]));
  }
  return out;
}

// Of the same weekday, over so many weeks at most.
std::vector<double> weekdays(std::span<const double> past, std::size_t horizon, std::size_t weeks) {
  std::vector<double> out;
  for (std::size_t h = 0; h < horizon; ++h) {
    double sum = 0;
    std::size_t n = 0;
    for (std::size_t back = kSeasonDays - h % kSeasonDays; back <= past.size() && n < weeks; back += kSeasonDays, ++n) {
      sum += past[past.size() - back];
    }
    out.push_back(sum / static_cast<double>(n));
  }
  return out;
}

double spanned(std::span<const double> leads, std::size_t lead, LeadSpan span) {
  std::size_t from = 0;
  if (span == LeadSpan::day) from = lead - 1;
  if (span == LeadSpan::week) from = lead - std::min(lead, kSeasonDays);
  double sum = 0;
  for (std::size_t i = from; i < lead; ++i) sum += leads[i];
  return span == LeadSpan::week ? sum / static_cast<double>(lead - from) : sum;
}

// One pass over the origins: points, errors as they become known, bands as they could be given.
class Origins {
 public:
  Origins(std::span<const double> days, ForecastMethod method, LeadSpan span, std::size_t horizon, const BandSpec& spec)
      : days_(days), span_(span), horizon_(horizon), spec_(spec), errors_(horizon), miss_(horizon, 1 - spec.level) {
    for (std::size_t o = kForecastDaysMin; o <= days.size(); ++o) {
      const std::vector<double> f = forecast_days(days.first(o), method, horizon);
      std::vector<double> points;
      for (std::size_t h = 1; h <= horizon; ++h) points.push_back(spanned(f, h, span));
      points_.push_back(std::move(points));
      radii_.emplace_back(horizon);
    }
  }

  Rolling run() {
    Rolling out;
    out.scores.resize(horizon_);
    for (std::size_t o = kForecastDaysMin; o <= days_.size(); ++o) {
      learn(o, out);
      for (std::size_t h = 1; h <= horizon_; ++h) radius(o, h) = give(h);
    }
    out.ahead = ahead();
    return out;
  }

 private:
  double point(std::size_t origin, std::size_t lead) const { return points_[origin - kForecastDaysMin][lead - 1]; }
  std::optional<double>& radius(std::size_t origin, std::size_t lead) { return radii_[origin - kForecastDaysMin][lead - 1]; }

  // What day `o - 1` brought: it was lead h of the origin h days before.
  void learn(std::size_t o, Rolling& out) {
    for (std::size_t h = 1; h <= horizon_ && o >= kForecastDaysMin + h; ++h) {
      const std::size_t origin = o - h;
      const double came = spanned(days_.subspan(origin, h), h, span_);
      const double error = std::abs(came - point(origin, h));
      errors_[h - 1].push_back(error);
      LeadScore& s = out.scores[h - 1];
      const std::optional<double> r = radius(origin, h);
      if (!r) continue;
      const bool held = error <= *r;
      ++s.bands;
      s.held += held ? 1 : 0;
      miss_[h - 1] += spec_.step * (1 - spec_.level - (held ? 0 : 1));
    }
  }

  std::optional<double> give(std::size_t lead) const {
    if (errors_[lead - 1].size() < spec_.errors_min) return std::nullopt;
    std::vector<double> near;
    const std::size_t to = std::min(horizon_, lead + spec_.near);
    for (std::size_t h = lead - std::min(lead - 1, spec_.near); h <= to; ++h) {
      near.insert(near.end(), errors_[h - 1].begin(), errors_[h - 1].end());
    }
    const double share = std::clamp(1 - miss_[lead - 1], 0.0, 1.0);
    const auto k = static_cast<std::size_t>(std::ceil(share * static_cast<double>(near.size() + 1)));
    const auto at = near.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(k, 1, near.size()) - 1);
    std::nth_element(near.begin(), at, near.end());
    return *at;
  }

  std::vector<DayBand> ahead() {
    std::vector<DayBand> out;
    double last = 0;
    std::size_t last_lead = 0;
    for (std::size_t h = 1; h <= horizon_; ++h) {
      DayBand b;
      b.point = point(days_.size(), h);
      std::optional<double> r = radius(days_.size(), h);
      b.checked = r.has_value();
      if (r) {
        last = *r;
        last_lead = h;
      } else {
        if (last_lead == 0) return {};
        const double ratio = static_cast<double>(h) / static_cast<double>(last_lead);
        r = last * std::sqrt(ratio) * (span_ == LeadSpan::total ? ratio : 1);  // a sum of so many days that wander together
      }
      b.low = std::max(0.0, b.point - *r);
      b.high = b.point + *r;
      out.push_back(b);
    }
    return out;
  }

  std::span<const double> days_;
  LeadSpan span_;
  std::size_t horizon_;
  BandSpec spec_;
  std::vector<std::vector<double>> points_;                // [origin][lead]
  std::vector<std::vector<std::optional<double>>> radii_;  // of the bands given there
  std::vector<std::vector<double>> errors_;                // of each lead, known so far
  std::vector<double> miss_;                               // share of misses that is asked for now
};

double grown(std::size_t lead, double per_year) { return det_pow(1 + per_year, static_cast<double>(lead) / 365.25); }

}  // namespace

std::vector<double> forecast_days(std::span<const double> past, ForecastMethod method, std::size_t horizon) {
  MUSTER_CHECK(past.size() >= kForecastDaysMin);
  switch (method) {
    case ForecastMethod::damped_trend: return damped_trend(past, horizon);
    case ForecastMethod::seasonal_naive: return weekdays(past, horizon, 1);
    case ForecastMethod::weekday_mean: return weekdays(past, horizon, 4);
  }
  return {};
}

Rolling roll(std::span<const double> days, ForecastMethod method, LeadSpan span, std::size_t horizon, const BandSpec& spec) {
  if (days.size() < kForecastDaysMin) return {{}, std::vector<LeadScore>(horizon)};
  return Origins(days, method, span, horizon, spec).run();
}

std::optional<double> wape(std::span<const double> days, ForecastMethod method, std::size_t horizon) {
  double error = 0, actual = 0;
  for (std::size_t o = kFirstOrigin; o + horizon <= days.size(); ++o) {
    const std::vector<double> f = forecast_days(days.first(o), method, horizon);
    for (std::size_t h = 0; h < horizon; ++h) {
      error += std::abs(f[h] - days[o + h]);
      actual += days[o + h];
    }
  }
  return actual > 0 ? std::optional<double>(error / actual) : std::nullopt;
}

ForecastScores score_forecasts(std::span<const double> days, std::span<const std::size_t> horizons, const BandSpec& spec) {
  ForecastScores out;
  for (const std::size_t h : horizons) {
    HorizonScore one;
    one.days = h;
    out.horizons.push_back(one);
  }
  const std::size_t longest = horizons.empty() ? 0 : *std::max_element(horizons.begin(), horizons.end());
  for (std::size_t m = 0; m < kForecastMethods; ++m) {
    const auto method = static_cast<ForecastMethod>(m);
    const Rolling r = roll(days, method, LeadSpan::day, longest, spec);
    for (HorizonScore& one : out.horizons) {
      one.wape[m] = wape(days, method, one.days);
      std::uint64_t bands = 0, held = 0;
      for (std::size_t h = 0; h < one.days; ++h) {
        bands += r.scores[h].bands;
        held += r.scores[h].held;
      }
      one.bands[m] = bands;
      // Its farthest lead too must have been checked: else this is of the near ones alone.
      if (r.scores[one.days - 1].bands > 0) one.coverage[m] = static_cast<double>(held) / static_cast<double>(bands);
    }
  }
  constexpr auto kTrend = static_cast<std::size_t>(ForecastMethod::damped_trend);
  constexpr auto kNaive = static_cast<std::size_t>(ForecastMethod::seasonal_naive);
  for (const HorizonScore& one : out.horizons) {
    if (!one.wape[kTrend] || !one.wape[kNaive] || *one.wape[kNaive] <= 0) continue;
    const double saved = 1 - *one.wape[kTrend] / *one.wape[kNaive];
    out.skill = out.skill ? std::min(*out.skill, saved) : saved;
  }
  if (out.skill && *out.skill > 0) out.shown = ForecastMethod::damped_trend;
  return out;
}

RunOut run_out(std::span<const DayBand> bands, double limit) {
  RunOut out;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    if (!out.p10 && bands[i].high >= limit) out.p10 = i + 1;
    if (!out.p50 && bands[i].point >= limit) out.p50 = i + 1;
    if (!out.p90 && bands[i].low >= limit) out.p90 = i + 1;
  }
  return out;
}

void grow(std::vector<DayBand>& bands, double per_year) {
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const double g = grown(i + 1, per_year);
    bands[i] = {bands[i].low * g, bands[i].point * g, bands[i].high * g, bands[i].checked};
  }
}

void grow_totals(std::vector<DayBand>& totals, double per_year) {
  DayBand before, sum;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const DayBand now = totals[i];
    const double g = grown(i + 1, per_year);
    sum.low += (now.low - before.low) * g;
    sum.point += (now.point - before.point) * g;
    sum.high += (now.high - before.high) * g;
    before = now;
    totals[i] = {std::max(0.0, sum.low), sum.point, sum.high, now.checked};
  }
}

}  // namespace muster::predict
