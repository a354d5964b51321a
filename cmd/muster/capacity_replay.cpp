// muster capacity replay: with what chance waits stay within their targets, by nodes added and growth of demand.
#include <fmt/core.h>

#include <cmath>
#include <thread>

#include "base/json_writer.h"
#include "capacity_held_out.h"
#include "capacity_money.h"
#include "capacity_options.h"
#include "capacity_trace.h"
#include "files.h"
#include "ingest/wait_targets_file.h"
#include "progress.h"
#include "report/chart.h"
#include "report/maybe.h"
#include "report/table.h"
#include "report/units.h"
#include "run_report.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

using report::Cell;
using trial::CapacityCurve;
using trial::CapacityPoint;
using trial::Chance;

struct Answer {
  trial::TraceWeeks weeks;
  trial::CapacitySpec spec;
  NodePrice price;
  std::vector<CapacityCurve> curves;  // by growth
  std::uint64_t too_large = 0;        // jobs of the record that no size that was tried can hold
  std::uint32_t largest = 0;          // GPUs of its largest job
  std::uint64_t replays = 0;
  double cpu_s = 0;
};

std::string growth_name(double growth) { return growth == trial::kDrift ? std::string("drift") : fmt::format("x{:g}", growth); }
std::string whole_pct(double p) { return fmt::format("{:.0f} %", 100 * p); }
std::string ci(const Chance& c) { return fmt::format("{:.0f}-{:.0f} %", 100 * c.low, 100 * c.high); }

std::optional<double> usd_of(const NodePrice& price, std::uint32_t nodes) {
  return price.usd_year ? std::optional(*price.usd_year * nodes) : std::nullopt;
}

// Yearly cost of each point by which the chance rises over that of no nodes. None where it does not rise.
std::optional<double> usd_per_point(const CapacityCurve& curve, const CapacityPoint& p, const NodePrice& price) {
  const double gained = 100 * (p.all.p - curve.points.front().all.p);
  if (p.nodes_added == 0 || gained < 0.5 || !price.usd_year) return std::nullopt;
  return *price.usd_year * p.nodes_added / gained;
}

report::Table points_table(const Answer& a) {
  report::Table t;
  t.columns = {{.name = "GROWTH", .csv = "growth"},
               {.name = "NODES", .right = true, .csv = "nodes_added"},
               {.name = "GPUS", .right = true, .csv = "gpus"},
               {.name = "ASKED", .right = true, .csv = "offered"}};
  for (std::size_t c = 0; c < a.spec.targets.size(); ++c) {
    t.columns.push_back(
        {.name = class_name(a.spec.targets, c), .right = true, .csv = "week_met_" + class_key(a.spec.targets, c)});
  }
  for (report::Column c : {report::Column{.name = "ALL", .right = true, .csv = "week_met_all"},
                           report::Column{.name = "90 % RANGE", .csv = "week_met_all_low_high"},
                           report::Column{.name = "USD A YEAR", .right = true, .csv = "usd_year"},
                           report::Column{.name = "A POINT", .right = true, .csv = "usd_year_per_point"}}) {
    t.columns.push_back(std::move(c));
  }
  for (const CapacityCurve& curve : a.curves) {
    for (const CapacityPoint& p : curve.points) {
      const bool least = curve.least == p.nodes_added;
      std::vector<Cell> row = {Cell(growth_name(curve.growth)), Cell(fmt::format("+{}{}", p.nodes_added, least ? " *" : "")),
                               Cell(report::render_count(a.spec.replay.gpus + p.nodes_added * a.spec.gpus_per_node)),
                               Cell(whole_pct(p.offered))};
      row[0].raw = curve.growth == trial::kDrift ? std::string("drift") : fmt::format("{:g}", curve.growth);
      row[1].raw = std::to_string(p.nodes_added);
      row[2].raw = std::to_string(a.spec.replay.gpus + p.nodes_added * a.spec.gpus_per_node);
      row[3].raw = fmt::format("{:.4f}", p.offered);
      for (const trial::ClassChance& c : p.classes) {
        row.emplace_back(c.week ? whole_pct(c.week->p) : "-");
        row.back().raw = c.week ? fmt::format("{:.4f}", c.week->p) : "";
      }
      row.emplace_back(whole_pct(p.all.p), least ? report::Tone::good : report::Tone::plain);
      row.back().raw = fmt::format("{:.4f}", p.all.p);
      row.emplace_back(ci(p.all));
      row.back().raw = fmt::format("{:.4f} {:.4f}", p.all.low, p.all.high);
      const auto usd = usd_of(a.price, p.nodes_added);
      row.emplace_back(p.nodes_added == 0 || !usd ? "-" : report::render_count(std::llround(*usd)));
      row.back().raw = usd ? fmt::format("{:.0f}", *usd) : "";
      const auto each = usd_per_point(curve, p, a.price);
      row.emplace_back(each ? report::render_count(std::llround(*each)) : "-");
      row.back().raw = each ? fmt::format("{:.0f}", *each) : "";
      t.rows.push_back(std::move(row));
    }
  }
  return t;
}

// Chance of all targets against nodes added, evenly spaced, straight between the sizes that were tried.
report::Chart chart_of(const Answer& a) {
  report::Chart c;
  c.title = "Chance that a week meets every wait target, by nodes added";
  report::Panel panel{"chance in %", 100, {}, false};
  std::uint32_t most = 1;
  for (const CapacityCurve& curve : a.curves) most = std::max(most, curve.points.back().nodes_added);
  constexpr std::size_t kSteps = 70;
  for (const CapacityCurve& curve : a.curves) {
    report::Line line{growth_name(curve.growth), {}};
    for (std::size_t i = 0; i <= kSteps; ++i) {
      const double x = static_cast<double>(most * i) / kSteps;
      double y = std::nan("");
      for (std::size_t k = 0; k < curve.points.size(); ++k) {
        const double at = curve.points[k].nodes_added;
        if (at <= x) y = 100 * curve.points[k].all.p;
        if (at <= x || k == 0 || curve.points[k - 1].nodes_added > x) continue;
        const double before = curve.points[k - 1].nodes_added;
        y = 100 *
            (curve.points[k - 1].all.p + (curve.points[k].all.p - curve.points[k - 1].all.p) * (x - before) / (at - before));
        break;
      }
      line.values.push_back(y);
    }
    panel.lines.push_back(std::move(line));
  }
  c.panels = {std::move(panel)};
  c.begin = "+0 nodes";
  c.end = fmt::format("+{}", most);
  return c;
}

std::string least_text(const Answer& a, const CapacityReplayOptions& o) {
  std::string s;
  for (const CapacityCurve& curve : a.curves) {
    const std::string demand = curve.growth == 1 ? std::string("as much as before") : growth_name(curve.growth);
    if (!curve.least) {
      s += fmt::format("Demand {}: no size that was tried keeps every target in {:g} % of weeks (up to +{} nodes).\n", demand,
                       o.wanted_pct, curve.points.back().nodes_added);
      continue;
    }
    const auto at = std::find_if(curve.points.begin(), curve.points.end(),
                                 [&](const CapacityPoint& p) { return p.nodes_added == *curve.least; });
    if (*curve.least == 0) {
      s += fmt::format("Demand {}: what is there keeps every target in {} of weeks; the draws allow {}.\n", demand,
                       whole_pct(at->all.p), ci(at->all));
      continue;
    }
    const auto usd = usd_of(a.price, *curve.least);
    s += fmt::format("Demand {}: +{} node{}{} keep{} every target in {} of weeks; the draws allow {}.\n", demand, *curve.least,
                     *curve.least == 1 ? "" : "s",
                     usd ? fmt::format(" ({} a year)", report::render_money(*usd, "USD")) : std::string(),
                     *curve.least == 1 ? "s" : "", whole_pct(at->all.p), ci(at->all));
  }
  return s;
}

// Jobs that never fit make a target that no week can keep, however short the other waits are.
std::string too_large_text(const Answer& a) {
  if (a.too_large == 0) return "";
  return fmt::format(
      "{} of the record ask{} for more GPUs than the largest size that was tried has (the largest for {}): they wait "
      "for ever.\n",
      report::counted(static_cast<std::int64_t>(a.too_large), "job"), a.too_large == 1 ? "s" : "",
      report::render_count(a.largest));
}

// Asked for many times over, it is rarely the site: durations in milliseconds, or a cluster of the wrong size.
std::string overfull_text(const Answer& a) {
  constexpr double kOverfull = 5;
  const double asked = a.curves.front().points.front().offered;
  if (asked < kOverfull) return "";
  return fmt::format("The record asks for {:.0f} times what {} GPUs are: is duration in seconds, and are these all the GPUs?\n",
                     asked, report::render_count(a.spec.replay.gpus));
}

std::string render_text(const Answer& a, const CapacityReplayOptions& o) {
  const trial::ReplaySpec& r = a.spec.replay;
  std::string s = fmt::format(
      "{} whole weeks of jobs from {}; {} draws of them for each size, {} measured in each; {} GPUs now, "
      "{}, policy muster{}\n",
      a.weeks.jobs.size(), render_utc(a.weeks.first).substr(0, 10), a.spec.draws, report::counted(a.spec.weeks, "week"),
      report::render_count(r.gpus), r.topology ? "placed on nodes and leaves" : "GPU counts only",
      r.pauses ? ", long jobs step aside" : "");
  s += targets_text(a.spec.targets);
  s += "\nChance that a week meets its targets; asked: GPU-hours over what there are; * the fewest nodes\n";
  s += report::render_table(points_table(a), {true, false, colour_wanted() && stdout_is_terminal()}) + "\n";
  s += least_text(a, o) + too_large_text(a) + overfull_text(a) + "\n" +
       report::render_terminal(chart_of(a), {78, 5, stdout_is_terminal()});
  s += a.price.usd_year ? fmt::format("\nA node a year: {} ({}).\n", report::render_money(*a.price.usd_year, "USD"), a.price.from)
                        : fmt::format("\nWhat a node costs a year is not known: {}.\n", a.price.from);
  s += fmt::format("{} replays in {:.0f} s of CPU: {:.1f} a second.\n", a.replays, a.cpu_s,
                   static_cast<double>(a.replays) / std::max(a.cpu_s, 1e-9));
  return s +
         "Weeks of the past say nothing of demand that nobody has seen: --growth tries it, --held-out shows how far that was "
         "off.\n";
}

void write_chance(JsonWriter& w, std::string_view key, const std::optional<Chance>& c) {
  w.key(key);
  if (!c) {
    w.null();
    return;
  }
  w.object().field("p", c->p).field("low", c->low).field("high", c->high).end_object();
}

std::string render_json(const Answer& a) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "CapacityReplay").field("weeks", std::uint64_t{a.weeks.jobs.size()});
  w.field("first_week", render_utc(a.weeks.first).substr(0, 10)).field("gpus", a.spec.replay.gpus);
  w.field("draws", a.spec.draws).field("weeks_measured", a.spec.weeks).field("seed", a.spec.seed);
  report::write_maybe(w, "node_usd_year", a.price.usd_year);
  w.field("node_usd_year_from", a.price.from).field("jobs_too_large", a.too_large).field("largest_job_gpus", a.largest);
  w.field("replays", a.replays).field("cpu_s", a.cpu_s);
  w.key("targets").array();
  for (std::size_t c = 0; c < a.spec.targets.size(); ++c) {
    const trial::WaitTarget& t = a.spec.targets[c];
    w.object()
        .field("class", class_key(a.spec.targets, c))
        .field("wait_s", t.wait.seconds())
        .field("share", t.share)
        .end_object();
  }
  w.end_array().key("growths").array();
  for (const CapacityCurve& curve : a.curves) {
    w.object().field("demand", growth_name(curve.growth)).key("nodes_least");
    if (curve.least)
      w.value(*curve.least);
    else
      w.null();
    w.key("points").array();
    for (const CapacityPoint& p : curve.points) {
      w.object().field("nodes_added", p.nodes_added).field("offered", p.offered).field("given_up", p.given_up);
      write_chance(w, "all", p.all);
      report::write_maybe(w, "usd_year", usd_of(a.price, p.nodes_added));
      report::write_maybe(w, "usd_year_per_point", usd_per_point(curve, p, a.price));
      w.key("classes").array();
      for (std::size_t c = 0; c < p.classes.size(); ++c) {
        w.object().field("class", class_key(a.spec.targets, c));
        write_chance(w, "week", p.classes[c].week);
        if (p.classes[c].in_time) w.field("in_time", *p.classes[c].in_time);
        w.end_object();
      }
      w.end_array().end_object();
    }
    w.end_array().end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

Result<trial::CapacitySpec> spec_of(const CapacityReplayOptions& o) {
  trial::CapacitySpec s;
  s.replay.gpus = o.gpus;
  if (!o.cluster.empty()) {
    auto site = load_cluster(o.cluster);
    if (!site) return tl::unexpected(site.error());
    s.replay.gpus = site->gpus();
    s.gpus_per_node = site->gpus_per_node;
    s.replay.site = std::move(*site);
  }
  if (s.replay.gpus == 0) return fail(Code::bad_input, "how many GPUs are there?", "give --gpus or --cluster");
  s.replay.sigma = o.sigma;
  s.replay.topology = !o.counts;
  s.replay.pauses = o.pauses;
  if (!o.targets.empty()) {
    s.targets.clear();
    for (const TargetWish& t : o.targets) s.targets.push_back({t.gpus_max, from_seconds(t.wait_s), t.pct / 100});
  }
  if (!o.targets_file.empty()) {
    const auto text = read_file(o.targets_file);
    if (!text) return tl::unexpected(text.error());
    auto read = parse_wait_targets(*text, o.targets_file);
    if (!read) return tl::unexpected(read.error());
    s.targets = std::move(read->classes);
  }
  s.draws = o.draws;
  s.weeks = o.weeks;
  s.seed = o.seed;
  s.threads = std::max(1U, std::thread::hardware_concurrency());
  return s;
}

void count_too_large(Answer& a) {
  std::uint32_t most = 0;
  for (const CapacityCurve& curve : a.curves) most = std::max(most, curve.points.back().nodes_added);
  for (const auto& week : a.weeks.jobs) {
    for (const TraceJob& j : week) {
      a.largest = std::max(a.largest, j.gpus);
      a.too_large += j.gpus > a.spec.replay.gpus + most * a.spec.gpus_per_node ? 1 : 0;
    }
  }
}

}  // namespace

int run_capacity_replay(const CapacityReplayOptions& o) {
  auto spec = spec_of(o);
  if (!spec) return say_error(spec.error());
  Answer a;
  a.spec = std::move(*spec);
  const std::string& model = a.spec.replay.site.gpu_model;
  const auto price =
      node_price(o.node_usd_year, o.gpu, model.empty() ? "h200" : model, a.spec.gpus_per_node, kKwOfGpu * a.spec.gpus_per_node);
  if (!price) return say_error(price.error());
  a.price = *price;
  if (!o.svg.empty()) {
    if (auto ok = check_writable(o.svg); !ok) return say_error(ok.error());
  }
  const auto trace = load_capacity_trace(o.trace);
  if (!trace) return say_error(trace.error());
  a.weeks = trial::whole_weeks(trace->trace.jobs);
  if (a.weeks.jobs.size() < std::max<std::size_t>(4, trial::kWarmWeeks)) {
    return say_error(
        {Code::bad_input,
         fmt::format("{}: {} of jobs", o.trace, report::counted(static_cast<std::int64_t>(a.weeks.jobs.size()), "whole week")),
         "give a longer record: four weeks are the least, a quarter of a year is better"});
  }
  if (a.weeks.left_out > 0) {
    say(fmt::format("left out: {} at the ends, with under a quarter of the middle week's jobs or GPU-hours",
                    report::counted(a.weeks.left_out, "week")));
  }
  if (o.held_out) return show_held_out(a.weeks, a.spec, *trace, o.format, o.progress);
  const double before = usage().cpu_s;
  const std::uint32_t nodes = a.spec.replay.gpus / a.spec.gpus_per_node;
  for (const double growth : o.growths) {
    Progress progress("demand " + growth_name(growth), o.progress);
    std::size_t sizes = 0;
    a.spec.told = [&](double done) {
      // How many sizes the search will take is not known: each new one halves what is left.
      progress.update(1 - std::exp2(-static_cast<double>(sizes) - done), fmt::format("size {}", sizes + 1));
      if (done >= 1) ++sizes;
    };
    a.curves.push_back(trial::find_capacity(a.weeks, a.spec, growth, o.wanted_pct / 100,
                                            o.nodes_max > 0 ? o.nodes_max : std::max(1U, nodes), o.nodes_add));
    a.replays += a.curves.back().points.size() * a.spec.draws;
  }
  a.cpu_s = usage().cpu_s - before;
  count_too_large(a);
  if (!o.svg.empty()) {
    if (auto ok = write_file(o.svg, report::render_svg(chart_of(a))); !ok) return say_error(ok.error());
    say("wrote " + o.svg);
  }
  if (o.format == report::Format::json) put(render_json(a));
  if (o.format == report::Format::csv) put(report::render_csv(points_table(a), true));
  if (o.format == report::Format::table) put(render_text(a, o));
  return finish_output();
}

}  // namespace muster::cmd
