// muster bench price: what a year of deferrable work costs, run at once, by the planner, and with the whole year known.
#include <fmt/core.h>

#include <algorithm>

#include "base/json_writer.h"
#include "commands.h"
#include "files.h"
#include "ingest/price_file.h"
#include "model/fields.h"
#include "progress.h"
#include "say.h"
#include "trial/price_bench.h"

namespace muster::cmd {
namespace {

constexpr double kClaimPct = 18;  // the saving that is often claimed for running off-peak

double least(const trial::PriceTable& t) {
  double x = 1;
  for (const trial::PriceCell& c : t.cells) x = std::min(x, c.of_optimum);
  return x;
}

std::string_view known(const trial::PriceTable& t) { return t.market ? "published" : "forecast"; }

std::string render_json(const trial::PriceReport& r) {
  JsonWriter w;
  w.object().field("hours", r.hours).field("hours_filled", r.filled).field("mean_price", r.mean_price);
  w.field("forecast_error_mean", r.forecast_error);
  w.key("tables").array();
  for (const trial::PriceTable& t : r.tables) {
    w.object().field("stream", name_of(t.stream)).field("prices", known(t)).field("jobs", t.jobs).field("late", t.late);
    w.field("of_optimum_least", least(t));
    w.key("cells").array();
    for (const trial::PriceCell& c : t.cells) {
      w.object().field("utilisation", c.utilisation).field("idle_share", c.idle_share);
      w.field("bill_immediate", c.immediate).field("bill", c.muster).field("bill_optimum", c.optimum);
      w.field("saving_pct", c.saving_pct).field("optimum_pct", c.optimum_pct).field("of_optimum", c.of_optimum);
      w.field("reaches_18_pct", c.saving_pct >= kClaimPct).end_object();
    }
    w.end_array().end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string_view explain(trial::Stream s) {
  switch (s) {
    case trial::Stream::daily: return "a day's work, run in any hour of that day";
    case trial::Stream::steady: return "the same every hour, each job due 24 h after it came";
    case trial::Stream::office: return "more by day than by night, each job due 24 h after it came";
  }
  return "";
}

std::string render_text(const trial::PriceReport& r) {
  std::string s = fmt::format("{} hours, mean price {:.2f} per MWh, day-before forecasts off by {:.2f} on average\n", r.hours,
                              r.mean_price, r.forecast_error);
  for (const trial::PriceTable& t : r.tables) {
    s += fmt::format("\n{}: {}; prices {}; {} jobs of one GPU-hour, {} late\n", name_of(t.stream), explain(t.stream),
                     t.market ? "published the day before" : "known by forecasts only", t.jobs, t.late);
    s += "  busy   idle power   saved   best possible   of it\n";
    for (const trial::PriceCell& c : t.cells) {
      s +=
          fmt::format("  {:>3.0f}%   {:>9.0f}%   {:>4.1f}%   {:>12.1f}%   {:>3.0f}%{}\n", 100 * c.utilisation, 100 * c.idle_share,
                      c.saving_pct, c.optimum_pct, 100 * c.of_optimum, c.saving_pct >= kClaimPct ? "   18 % reached" : "");
    }
  }
  return s;
}

}  // namespace

int run_bench_price(const BenchPriceOptions& o) {
  auto text = read_file(o.prices);
  if (!text) return say_error(text.error());
  auto prices = parse_prices(*text, o.prices);
  if (!prices) return say_error(prices.error());
  if (const std::string missing = about_missing(*prices); !missing.empty()) say(o.prices + ": " + missing);
  constexpr std::size_t kLeast_h = 72;
  if (prices->hours() < kLeast_h) {
    return say_error({Code::bad_input, fmt::format("{} has {} hours: three days are the least", o.prices, prices->hours()),
                      "give a longer series; a year shows all seasons"});
  }
  trial::PriceBenchOptions bench;
  bench.prices = std::move(*prices);
  trial::PriceReport report;
  {
    Progress progress("pricing", o.progress);
    bench.progress = [&](double done) { progress.update(done); };
    report = trial::bench_price(bench);
  }
  put(o.format == report::Format::json ? render_json(report) : render_text(report));
  return finish_output();
}

}  // namespace muster::cmd
