// muster capacity forecast: the days to come, with bands that were held to what came before, and when capacity ends.
#include <fmt/core.h>

#include <cmath>

#include "base/json_writer.h"
#include "capacity_dates.h"
#include "capacity_options.h"
#include "capacity_trace.h"
#include "files.h"
#include "report/chart.h"
#include "report/table.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

using predict::DayBand;
using predict::ForecastMethod;
using report::Cell;

constexpr std::array<std::size_t, 3> kHorizons = {7, 14, 28};
constexpr auto kTrend = static_cast<std::size_t>(ForecastMethod::damped_trend);
constexpr auto kNaive = static_cast<std::size_t>(ForecastMethod::seasonal_naive);

struct Answer {
  predict::DemandDays demand;
  predict::ForecastScores scores;
  std::vector<DayBand> ahead;
  std::vector<RunOutDate> dates;
  double jobs = 0;
};

std::string pct(const std::optional<double>& share) { return report::render_percent(share); }

// What may be said of the forecast's worth, and no more.
std::string verdict(const predict::ForecastScores& s) {
  if (!s.skill) {
    return "The history is too short to try the methods on it: shown is a week ago, and no skill is claimed.";
  }
  if (*s.skill <= 0) {
    return "The damped Holt-Winters loses to \"as a week ago\" on this site's own history: shown is a week ago, and no skill is "
           "claimed.";
  }
  return fmt::format(
      "Shown is the damped Holt-Winters: on this site's own history its error is {:.0f} % below \"as a week ago\" at "
      "its worst horizon.",
      100 * *s.skill);
}

report::Table scores_table(const predict::ForecastScores& s) {
  report::Table t;
  t.columns = {{"DAYS", true},        {"HOLT-WINTERS", true}, {"A WEEK AGO", true},
               {"4-WEEK MEAN", true}, {"BANDS HELD", true},   {"OF BANDS", true}};
  for (const predict::HorizonScore& h : s.horizons) {
    const auto shown = static_cast<std::size_t>(s.shown);
    t.rows.push_back({Cell(std::to_string(h.days)), Cell(pct(h.wape[0])), Cell(pct(h.wape[1])), Cell(pct(h.wape[2])),
                      Cell(pct(h.coverage[shown])),
                      Cell(h.coverage[shown] ? report::render_count(static_cast<std::int64_t>(h.bands[shown])) : "-")});
  }
  return t;
}

report::Table dates_table(const Answer& a, std::size_t horizon) {
  report::Table t;
  t.columns = {{"ENDS"}, {"LIMIT"}, {"1 IN 10 BY"}, {"EVEN ODDS BY"}, {"9 IN 10 BY"}};
  for (const RunOutDate& d : a.dates) {
    t.rows.push_back({Cell(d.what), Cell(d.limit), Cell(date_of(a.demand, d.when.p10, horizon)),
                      Cell(date_of(a.demand, d.when.p50, horizon)), Cell(date_of(a.demand, d.when.p90, horizon))});
  }
  return t;
}

report::Table days_table(const Answer& a) {
  report::Table t;
  t.columns = {{.name = "DAY", .csv = "date"},
               {.name = "LOW", .right = true, .csv = "gpu_hours_p10"},
               {.name = "POINT", .right = true, .csv = "gpu_hours"},
               {.name = "HIGH", .right = true, .csv = "gpu_hours_p90"},
               {.name = "BAND", .csv = "band"}};
  for (std::size_t i = 0; i < a.ahead.size(); ++i) {
    const DayBand& b = a.ahead[i];
    const auto cell = [](double v) { return Cell(report::render_count(std::llround(v))); };
    std::vector<Cell> row = {Cell(date_of(a.demand, i + 1, 0)), cell(b.low), cell(b.point), cell(b.high),
                             Cell(b.checked ? "checked" : "widened")};
    for (std::size_t k : {1, 2, 3}) row[k].raw = fmt::format("{:.1f}", k == 1 ? b.low : k == 2 ? b.point : b.high);
    t.rows.push_back(std::move(row));
  }
  return t;
}

report::Chart chart_of(const Answer& a) {
  report::Chart c;
  c.title = "GPU-hours a day asked for, and what is forecast";
  const std::size_t past = a.demand.gpu_hours.size(), all = past + a.ahead.size();
  report::Line was{"what came", std::vector<double>(all, std::nan(""))};
  report::Line low{"1 in 10 below", was.values}, point{"forecast", was.values}, high{"1 in 10 above", was.values};
  for (std::size_t i = 0; i < past; ++i) was.values[i] = a.demand.gpu_hours[i];
  for (std::size_t i = 0; i < a.ahead.size(); ++i) {
    low.values[past + i] = a.ahead[i].low;
    point.values[past + i] = a.ahead[i].point;
    high.values[past + i] = a.ahead[i].high;
  }
  double top = 0;
  for (const report::Line* l : {&was, &high}) {
    for (const double v : l->values) top = std::isfinite(v) ? std::max(top, v) : top;
  }
  c.panels = {{"GPU-hours a day", 0, {was, high, point, low}, false}};
  c.panels[0].max = 0;
  c.begin = render_utc(a.demand.first).substr(0, 10);
  c.end = date_of(a.demand, a.ahead.size(), 0);
  return c;
}

// In a terminal: what came and the three lines of the forecast as one picture each would be tall; the band is drawn as two areas.
std::string bands_text(const Answer& a, bool unicode) {
  report::Chart c = chart_of(a);
  c.title.clear();
  auto& lines = c.panels[0].lines;
  const std::size_t past = a.demand.gpu_hours.size();
  report::Line upper = lines[0], lower = lines[0];
  upper.name = "what came, then what 1 in 10 days exceeds";
  lower.name = "what came, then what 9 in 10 days exceed";
  for (std::size_t i = 0; i < a.ahead.size(); ++i) {
    upper.values[past + i] = a.ahead[i].high;
    lower.values[past + i] = a.ahead[i].low;
  }
  lines = {upper, lower};
  return report::render_terminal(c, {78, 6, unicode});
}

std::string render_text(const Answer& a, const CapacityForecastOptions& o) {
  const auto& y = a.demand.gpu_hours;
  std::string s = fmt::format(
      "{} jobs, {} whole days from {}; demand is what each day would have held had every job begun when it "
      "came\n\n",
      report::render_count(static_cast<std::int64_t>(a.jobs)), y.size(), render_utc(a.demand.first).substr(0, 10));
  s += "Error over what came, leads 1 to so many days from every day of the past; how many days lay within their 80 % bands\n";
  s += report::render_table(scores_table(a.scores), {true, false, false}) + "\n";
  s += report::wrap(verdict(a.scores), 100, 0) + "\n\n";
  if (a.ahead.empty()) return s + "The history is too short for bands.\n";
  s += bands_text(a, stdout_is_terminal()) + "\n";
  report::Table days = days_table(a);
  std::vector<std::vector<Cell>> shown;
  for (std::size_t i = 0; i < days.rows.size(); ++i) {
    if (i < 7 || (i + 1) % 7 == 0 || i + 1 == days.rows.size()) shown.push_back(days.rows[i]);
  }
  days.rows = std::move(shown);
  s += "GPU-hours a day: the first week, then each seventh day (all with -o csv)\n";
  s += report::render_table(days, {true, false, false});
  if (!a.ahead.back().checked) {
    s += "Widened: farther ahead than the history could check; as of a walk without direction.\n";
  }
  if (o.growth != 0) s += fmt::format("With {:+g} % a year besides, which is an assumption of --growth.\n", 100 * o.growth);
  if (!a.dates.empty()) {
    s += "\nWhen it ends, the mean of a week against the limit; a quota by the sum of days\n";
    s += report::render_table(dates_table(a, a.ahead.size()), {true, false, false});
  }
  return s;
}

void write_share(JsonWriter& w, std::string_view key, const std::optional<double>& v) {
  w.key(key);
  if (v)
    w.value(*v);
  else
    w.null();
}

std::string render_json(const Answer& a, const CapacityForecastOptions& o) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "CapacityForecast").field("jobs", a.jobs);
  w.field("first_day", render_utc(a.demand.first).substr(0, 10)).field("days", std::uint64_t{a.demand.gpu_hours.size()});
  w.field("method", names(ForecastMethod{})[static_cast<std::size_t>(a.scores.shown)]).field("growth_per_year", o.growth);
  write_share(w, "skill", a.scores.skill);
  w.field("skill_claimed", a.scores.skill && *a.scores.skill > 0).field("verdict", verdict(a.scores)).field("band_level", 0.8);
  w.key("horizons").array();
  const auto shown = static_cast<std::size_t>(a.scores.shown);
  for (const predict::HorizonScore& h : a.scores.horizons) {
    w.object().field("days", std::uint64_t{h.days});
    write_share(w, "wape_holt_winters", h.wape[kTrend]);
    write_share(w, "wape_seasonal_naive", h.wape[kNaive]);
    write_share(w, "wape_four_week_mean", h.wape[2]);
    write_share(w, "band_coverage", h.coverage[shown]);
    w.field("bands", h.bands[shown]).end_object();
  }
  w.end_array().key("forecast").array();
  for (std::size_t i = 0; i < a.ahead.size(); ++i) {
    const DayBand& b = a.ahead[i];
    w.object().field("date", date_of(a.demand, i + 1, 0)).field("gpu_hours_p10", b.low).field("gpu_hours", b.point);
    w.field("gpu_hours_p90", b.high).field("checked", b.checked).end_object();
  }
  w.end_array().key("ends").array();
  for (const RunOutDate& d : a.dates) {
    w.object().field("what", d.what).field("limit", d.limit).field("limit_gpu_hours", d.value);
    const auto date = [&](std::string_view key, const std::optional<std::size_t>& lead) {
      w.key(key);
      if (lead)
        w.value(date_of(a.demand, lead, 0));
      else
        w.null();
    };
    date("p10_date", d.when.p10);
    date("p50_date", d.when.p50);
    date("p90_date", d.when.p90);
    w.end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace

int run_capacity_forecast(const CapacityForecastOptions& o) {
  if ((o.limits.racks_free || o.limits.kw_free) && o.limits.gpus == 0) {
    return say_error({Code::bad_input, "--racks-free and --kw-free count from what is there", "add --gpus"});
  }
  if (!o.svg.empty()) {
    if (auto ok = check_writable(o.svg); !ok) return say_error(ok.error());
  }
  const auto trace = load_capacity_trace(o.trace);
  if (!trace) return say_error(trace.error());
  Answer a;
  a.jobs = static_cast<double>(trace->trace.jobs.size());
  a.demand = predict::demand_days(trace->trace.jobs);
  if (a.demand.gpu_hours.size() < predict::kForecastDaysMin) {
    return say_error(
        {Code::bad_input,
         fmt::format("{}: {} whole days; {} are the least", o.trace, a.demand.gpu_hours.size(), predict::kForecastDaysMin),
         "give a longer record; five weeks and more let the methods be tried on it"});
  }
  const auto horizon = static_cast<std::size_t>(o.horizon_days);
  a.scores = predict::score_forecasts(a.demand.gpu_hours, kHorizons);
  a.ahead = predict::roll(a.demand.gpu_hours, a.scores.shown, predict::LeadSpan::day, horizon).ahead;
  predict::grow(a.ahead, o.growth);
  warn_of_units(a.demand, o.limits.gpus);
  if (!a.ahead.empty()) a.dates = run_out_dates(a.demand, a.scores.shown, o.limits, horizon, o.growth);
  if (!o.svg.empty()) {
    if (auto ok = write_file(o.svg, report::render_svg(chart_of(a))); !ok) return say_error(ok.error());
    say("wrote " + o.svg);
  }
  if (o.format == report::Format::json) put(render_json(a, o));
  if (o.format == report::Format::csv) put(report::render_csv(days_table(a), true));
  if (o.format == report::Format::table) put(render_text(a, o));
  return finish_output();
}

}  // namespace muster::cmd
