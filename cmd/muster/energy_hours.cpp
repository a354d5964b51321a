// muster energy hours: when a job that can wait should run, by what is known now.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/json_writer.h"
#include "decide/energy/hours.h"
#include "energy_read.h"
#include "files.h"
#include "ingest/price_file.h"
#include "report/table.h"
#include "report/units.h"
#include "say.h"
#include "trial/price_bench.h"

namespace muster::cmd {
namespace {

using report::Cell;

struct Measure {
  std::string by;  // "cost", "carbon"
  std::string file;
  PriceSeries series;
  double scale = 1;  // from the series' unit to what `unit` says, for each kWh
  std::string unit;
  decide::Choices choices;
  decide::Wait wait;
  std::optional<decide::WaitReplay> replay;
  std::optional<trial::PriceReport> daily;
};

Result<Measure> read_measure(const EnergyHoursOptions& o, const std::string& by, const std::string& file) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  auto series = parse_prices(*text, file, by == "cost" ? Hourly::price : Hourly::carbon);
  if (!series) return tl::unexpected(series.error());
  if (const std::string missing = about_missing(*series); !missing.empty()) say(file + ": " + missing);
  if (!o.market && std::all_of(series->forecast.begin(), series->forecast.end(), [](double f) { return std::isnan(f); }))
    say(file + ": it has no forecasts (column " + (by == "cost" ? "forecast_per_mwh" : "forecast_24h_g_per_kwh") +
        "): what is known is the hour that runs and how days before went");
  if (series->hours() < o.within)
    return fail(Code::bad_input, fmt::format("{} has {} hours, fewer than --within {}", file, series->hours(), o.within));
  Measure m{by, file, std::move(*series), 1e-3, by == "cost" ? o.currency : "kg CO2", {}, {}, {}, {}};
  return m;
}

// The hour of the series that is now.
Result<std::size_t> hour_now(const EnergyHoursOptions& o, const PriceSeries& s, const std::string& file) {
  const std::size_t last = s.hours() - o.within;
  const Time at = o.at.empty() ? utc_now() : moment_of(o.at);
  const bool there = at >= s.begins && (at - s.begins).ns / hours(1).ns <= static_cast<std::int64_t>(last);
  if (there) return static_cast<std::size_t>((at - s.begins).ns / hours(1).ns);
  if (o.at.empty()) return last;
  return fail(Code::bad_input,
              fmt::format("{} does not have the {} hours from {} on: it goes from {} to {}", file, o.within, render_utc(at),
                          render_utc(s.begins), render_utc(s.begins + hours(static_cast<std::int64_t>(s.hours())))),
              "--at within it, or a shorter --within");
}

Result<void> choose(const EnergyHoursOptions& o, Measure& m) {
  m.wait.hours = o.hours;
  m.wait.within = o.within;
  m.wait.pausable = o.pausable;
  m.wait.known.market = o.market;
  if (o.year) {
    m.replay = decide::replay_waits(m.series, m.wait, 1);
    constexpr std::size_t kLeast_h = 72;
    if (m.series.hours() >= kLeast_h) {
      trial::PriceBenchOptions bench;
      bench.prices = m.series;
      bench.idle_shares = {0};
      m.daily = trial::bench_price(bench);
    }
  }
  auto now = hour_now(o, m.series, m.file);
  if (!now) return tl::unexpected(now.error());
  m.wait.now = *now;
  m.choices = decide::choose_hours(m.series, m.wait);
  return {};
}

std::string hours_of(const Measure& m, const decide::Choice& c) {
  const auto hour = [&](std::uint32_t h) { return m.series.begins + hours(static_cast<std::int64_t>(m.wait.now + h)); };
  std::string out;
  for (std::size_t i = 0; i < c.hours.size();) {
    std::size_t j = i;
    while (j + 1 < c.hours.size() && c.hours[j + 1] == c.hours[j] + 1) ++j;
    const std::string from = render_utc(hour(c.hours[i])), to = render_utc(hour(c.hours[j] + 1));
    out += (out.empty() ? "" : ", ") + (i == 0 ? from.substr(0, 10) + " " : std::string()) + from.substr(11, 5) + "-" +
           to.substr(11, 5);
    i = j + 1;
  }
  return out;
}

double sum_of(const EnergyHoursOptions& o, const Measure& m, double mean) { return mean * m.scale * o.kw * o.hours; }

// The share of what running at once costs; of a gain, where prices are below 0, the share of that. None of nothing.
std::optional<double> saved(double of, double by) {
  if (of == by) return 0;
  return of != 0 ? std::optional((of - by) / std::abs(of)) : std::nullopt;
}

std::string in_percent(const std::optional<double>& share) { return share ? fmt::format("{:.1f} %", 100 * *share) : "-"; }

const trial::PriceTable* daily_table(const Measure& m) {
  if (!m.daily) return nullptr;
  const auto it = std::find_if(m.daily->tables.begin(), m.daily->tables.end(),
                               [](const trial::PriceTable& t) { return t.stream == trial::Stream::daily && !t.market; });
  return it == m.daily->tables.end() ? nullptr : &*it;
}

std::string text_of(const EnergyHoursOptions& o, const Measure& m) {
  report::Table t;
  t.columns = {{"RUN"}, {"HOURS"}, {"MEAN/MWH", true}, {report::upper(m.by), true}, {"SAVED", true}};
  if (m.by == "carbon") t.columns[2].name = "G/KWH";
  const double now = m.choices.at_once.mean;
  const auto row = [&](const char* name, const decide::Choice& c) {
    t.rows.push_back({Cell(name), Cell(hours_of(m, c)), Cell(report::render_decimal(c.mean, 2)),
                      Cell(report::render_decimal(sum_of(o, m, c.mean), 2) + " " + m.unit),
                      Cell(in_percent(saved(now, c.mean)))});
  };
  row("at once", m.choices.at_once);
  row(o.market ? "by published prices" : "by forecast", m.choices.forecast);
  row("knowing the future", m.choices.foresight);
  std::string out = fmt::format("{} h at {:g} kW within {} h of {}, by {} ({}){}\n\n", o.hours, o.kw, o.within,
                                render_utc(m.series.begins + hours(static_cast<std::int64_t>(m.wait.now))), m.by, m.file,
                                o.pausable ? ", pausing between hours" : "");
  out += report::render_table(t, {.colour = colour_wanted()});
  if (m.replay) {
    out += fmt::format(
        "\nAsked in each of {} hours: running at once {:.2f}, by forecast {:.2f} (saves {}), knowing the future {:.2f} ({}); "
        "the forecast chose worse than at once in {:.1f} %.\n",
        m.replay->times, m.replay->at_once, m.replay->forecast, in_percent(saved(m.replay->at_once, m.replay->forecast)),
        m.replay->foresight, in_percent(saved(m.replay->at_once, m.replay->foresight)),
        100 * static_cast<double>(m.replay->worse) / std::max<double>(1, static_cast<double>(m.replay->times)));
  }
  if (const trial::PriceTable* d = daily_table(m)) {
    out +=
        "\nA whole cluster whose work can all wait within its day, by forecast (and knowing the future); idle GPUs draw "
        "nothing:\n";
    for (const trial::PriceCell& c : d->cells)
      out += fmt::format("  {:>3.0f} % busy: {:>4.1f} % of the {} saved ({:.1f} %)\n", 100 * c.utilisation, c.saving_pct,
                         m.by == "cost" ? "energy bill" : "emissions", c.optimum_pct);
  }
  return out;
}

void write_choice(JsonWriter& w, const EnergyHoursOptions& o, const Measure& m, std::string_view key, const decide::Choice& c) {
  w.key(key).object().field("mean_per_mwh", c.mean).field("expected_per_mwh", c.expected);
  w.field(m.by == "cost" ? "cost" : "carbon_kg", sum_of(o, m, c.mean))
      .field("saved_share", saved(m.choices.at_once.mean, c.mean).value_or(std::nan("")));
  w.key("hours_utc").array();
  for (const std::uint32_t h : c.hours) w.value(render_utc(m.series.begins + hours(static_cast<std::int64_t>(m.wait.now + h))));
  w.end_array().end_object();
}

std::string json_of(const EnergyHoursOptions& o, const std::vector<Measure>& all) {
  JsonWriter w;
  w.object()
      .field("apiVersion", "v1")
      .field("kind", "EnergyHours")
      .field("power_kw", o.kw)
      .field("hours", o.hours)
      .field("within_h", o.within);
  w.field("pausable", o.pausable).field("currency", o.currency).key("by").array();
  for (const Measure& m : all) {
    w.object()
        .field("measure", m.by)
        .field("now_utc", render_utc(m.series.begins + hours(static_cast<std::int64_t>(m.wait.now))));
    write_choice(w, o, m, "at_once", m.choices.at_once);
    write_choice(w, o, m, "forecast", m.choices.forecast);
    write_choice(w, o, m, "foresight", m.choices.foresight);
    if (m.replay) {
      w.key("replay")
          .object()
          .field("times", m.replay->times)
          .field("at_once", m.replay->at_once)
          .field("forecast", m.replay->forecast);
      w.field("foresight", m.replay->foresight).field("worse_than_at_once", m.replay->worse).end_object();
    }
    if (const trial::PriceTable* d = daily_table(m)) {
      w.key("daily_work").array();
      for (const trial::PriceCell& c : d->cells)
        w.object()
            .field("utilisation", c.utilisation)
            .field("saving_pct", c.saving_pct)
            .field("optimum_pct", c.optimum_pct)
            .end_object();
      w.end_array();
    }
    w.end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace

int run_energy_hours(const EnergyHoursOptions& o) {
  if (o.prices.empty() && o.carbon.empty())
    return say_error({Code::bad_input, "nothing to choose by", "--prices FILE, --carbon FILE or both"});
  if (o.within < o.hours)
    return say_error(
        {Code::bad_input, fmt::format("a job of {} h cannot be done within {} h", o.hours, o.within), "a longer --within"});
  std::vector<Measure> all;
  for (const auto& [by, file] : {std::pair<std::string, std::string>{"cost", o.prices}, {"carbon", o.carbon}}) {
    if (file.empty()) continue;
    auto m = read_measure(o, by, file);
    if (!m) return say_error(m.error());
    if (auto ok = choose(o, *m); !ok) return say_error(ok.error());
    all.push_back(std::move(*m));
  }
  if (o.format == report::Format::json) {
    put(json_of(o, all));
  } else {
    for (std::size_t i = 0; i < all.size(); ++i) put((i > 0 ? "\n" : "") + text_of(o, all[i]));
    if (all.size() > 1 && all[0].choices.forecast.hours != all[1].choices.forecast.hours)
      put("\nCost and carbon ask for different hours: a price for carbon decides (scheduling.carbon_per_tonne in a policy).\n");
  }
  return finish_output();
}

}  // namespace muster::cmd
