// muster bench capacity: the promised figures of forecasts and replays on a trace; exit code 1 where one is not kept.
#include <fmt/core.h>

#include <cmath>
#include <thread>

#include "base/json_writer.h"
#include "capacity_held_out.h"
#include "capacity_options.h"
#include "capacity_trace.h"
#include "predict/demand.h"
#include "predict/forecast.h"
#include "progress.h"
#include "report/table.h"
#include "report/units.h"
#include "run_report.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr std::array<std::size_t, 3> kHorizons = {7, 14, 28};
constexpr double kCoverageLow = 0.75, kCoverageHigh = 0.90;
constexpr std::array<double, 3> kSteps = {0.02, 0.05, 0.1};  // of the bands: the shipped one stands in the middle

struct Promise {
  std::string what;
  double value = 0, low = 0, high = 0;
  std::string unit;
  bool kept() const { return std::isfinite(value) && value >= low && value <= high; }
};

struct Bench {
  std::vector<Promise> promises;
  std::vector<std::string> shown;  // figures without a bound
  double forecast_cpu_s = 0, replay_cpu_s = 0;
  std::uint64_t replays = 0;
};

void forecasts(const std::vector<TraceJob>& jobs, Bench& b) {
  const double before = usage().cpu_s;
  const predict::DemandDays demand = predict::demand_days(jobs);
  const predict::ForecastScores s = predict::score_forecasts(demand.gpu_hours, kHorizons);
  const auto shown = static_cast<std::size_t>(s.shown);
  for (const predict::HorizonScore& h : s.horizons) {
    const auto pct = [](const std::optional<double>& v) { return v ? fmt::format("{:.1f}", 100 * *v) : std::string("-"); };
    b.shown.push_back(
        fmt::format("error over what came at {} days: damped Holt-Winters {} %, as a week ago {} %, four-week mean {} %", h.days,
                    pct(h.wape[0]), pct(h.wape[1]), pct(h.wape[2])));
  }
  // What is shown may not lose to the naive forecast.
  b.promises.push_back({"error saved over \"as a week ago\" by what is shown, worst horizon",
                        s.shown == predict::ForecastMethod::damped_trend ? 100 * s.skill.value_or(0) : 0, 0, 100, "%"});
  for (const predict::HorizonScore& h : s.horizons) {
    b.promises.push_back({fmt::format("days within the 80 % bands, leads 1 to {} ({} bands)", h.days, h.bands[shown]),
                          100 * h.coverage[shown].value_or(std::nan("")), 100 * kCoverageLow, 100 * kCoverageHigh, "%"});
  }
  for (const double step : kSteps) {
    predict::BandSpec spec;
    spec.step = step;
    std::string line = fmt::format("bands that adapt by {:g}:", step);
    for (const predict::HorizonScore& h : predict::score_forecasts(demand.gpu_hours, kHorizons, spec).horizons) {
      line += fmt::format(" {:.1f} % at {} days", 100 * h.coverage[shown].value_or(std::nan("")), h.days);
    }
    b.shown.push_back(line + (step == predict::BandSpec{}.step ? " (shipped)" : ""));
  }
  b.forecast_cpu_s = usage().cpu_s - before;
}

void compare(const trial::HeldOut& h, const trial::CapacityPoint& p, const trial::CapacitySpec& spec, const std::string& how,
             Bench& b) {
  for (std::size_t c = 0; c < spec.targets.size(); ++c) {
    const trial::ClassMonth& m = h.came.classes[c];
    if (m.jobs < kHeldOutJobsMin || !p.classes[c].in_time) continue;
    const double came = static_cast<double>(m.in_time) / static_cast<double>(m.jobs);
    b.promises.push_back({fmt::format("{} GPUs, {}, jobs {}: predicted {:.1f} %, came {:.1f} % of {}", spec.replay.gpus, how,
                                      class_key(spec.targets, c), 100 * *p.classes[c].in_time, 100 * came,
                                      report::render_count(static_cast<std::int64_t>(m.jobs))),
                          100 * (*p.classes[c].in_time - came), -kHeldOutPointsMax, kHeldOutPointsMax, "points"});
  }
}

Result<void> replays(const std::vector<TraceJob>& jobs, const BenchCapacityOptions& o, Bench& b) {
  const double before = usage().cpu_s;
  const trial::TraceWeeks weeks = trial::whole_weeks(jobs);
  Progress progress("held out", o.progress);
  double rounds = 0;
  constexpr std::array<double, 3> kShares = {1, 0.875, 0.75};
  for (const double share : kShares) {
    trial::CapacitySpec spec;
    spec.replay.gpus = static_cast<std::uint32_t>(o.gpus * share) / spec.gpus_per_node * spec.gpus_per_node;
    spec.replay.pauses = false;
    spec.draws = o.draws;
    spec.seed = o.seed;
    spec.threads = std::max(1U, std::thread::hardware_concurrency());
    spec.told = [&](double done) {
      progress.update((rounds + done) / 5);
      if (done >= 1) ++rounds;
    };
    const auto h = trial::hold_out(weeks, spec, share == 1);
    if (!h) return fail(Code::bad_input, fmt::format("{} whole weeks are too few", weeks.jobs.size()), "give a longer trace");
    b.replays += 1 + o.draws * (share == 1 ? 3 : 1);
    if (share == 1) {
      b.shown.push_back(fmt::format("held out: the last {} from {} whole ones, x{:.2f} of the GPU-hours of those before",
                                    report::counted(spec.weeks, "week"), weeks.jobs.size(), h->growth_came));
      compare(*h, h->no_growth, spec, "from the weeks before", b);
      for (std::size_t c = 0; c < spec.targets.size(); ++c) {
        const trial::ClassChance& k = h->level_unknown.classes[c];
        if (k.in_time) {
          b.shown.push_back(fmt::format(
              "{} GPUs, level unknown, jobs {}: {:.1f} %, nine draws in ten between {:.1f} and {:.1f} %", spec.replay.gpus,
              class_key(spec.targets, c), 100 * *k.in_time, 100 * *k.in_time_p5, 100 * *k.in_time_p95));
        }
      }
    }
    compare(*h, h->same_demand, spec, "the demand known", b);
  }
  b.replay_cpu_s = usage().cpu_s - before;
  return {};
}

std::string render_text(const Bench& b) {
  report::Table t;
  t.columns = {{"FIGURE"}, {"VALUE", true}, {"BOUND"}, {"KEPT"}};
  for (const Promise& p : b.promises) {
    t.rows.push_back({report::Cell(p.what), report::Cell(fmt::format("{:.1f} {}", p.value, p.unit)),
                      report::Cell(fmt::format("{:g} to {:g}", p.low, p.high)),
                      p.kept() ? report::Cell("yes", report::Tone::good) : report::Cell("NO", report::Tone::bad)});
  }
  std::string s = report::render_table(t, {true, false, colour_wanted() && stdout_is_terminal()}) + "\n";
  for (const std::string& line : b.shown) s += line + "\n";
  return s + fmt::format("CPU: forecasts {:.2f} s; {} replays {:.1f} s, {:.1f} a second\n", b.forecast_cpu_s, b.replays,
                         b.replay_cpu_s, static_cast<double>(b.replays) / std::max(1e-9, b.replay_cpu_s));
}

std::string render_json(const Bench& b) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "BenchCapacity").key("promises").array();
  for (const Promise& p : b.promises) {
    w.object().field("what", p.what).field("value", p.value).field("low", p.low).field("high", p.high).field("unit", p.unit);
    w.field("kept", p.kept()).end_object();
  }
  w.end_array().key("shown").array();
  for (const std::string& line : b.shown) w.value(line);
  w.end_array().field("forecast_cpu_s", b.forecast_cpu_s).field("replays", b.replays).field("replay_cpu_s", b.replay_cpu_s);
  w.end_object();
  return w.take() + "\n";
}

}  // namespace

int run_bench_capacity(const BenchCapacityOptions& o) {
  const auto trace = load_capacity_trace(o.trace);
  if (!trace) return say_error(trace.error());
  Bench b;
  if (predict::demand_days(trace->trace.jobs).gpu_hours.size() < predict::kFirstOrigin + kHorizons.back()) {
    return say_error({Code::bad_input, o.trace + ": nine weeks are the least", "give a longer trace"});
  }
  forecasts(trace->trace.jobs, b);
  if (auto ok = replays(trace->trace.jobs, o, b); !ok) return say_error(ok.error());
  put(o.format == report::Format::json ? render_json(b) : render_text(b));
  const int out = finish_output();
  const bool kept = std::all_of(b.promises.begin(), b.promises.end(), [](const Promise& p) { return p.kept(); });
  return out != 0 ? out : kept ? 0 : 1;
}

}  // namespace muster::cmd
