#include "capacity_held_out.h"

#include <fmt/core.h>

#include <cmath>

#include "base/json_writer.h"
#include "progress.h"
#include "report/table.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

using report::Cell;

// What the recorded waits of the same weeks say: another scheduler's, on the cluster as it was.
std::vector<trial::ClassMonth> recorded(const trial::TraceWeeks& weeks, const trial::CapacitySpec& spec,
                                        const RecordedTrace& trace) {
  std::vector<trial::ClassMonth> out(spec.targets.size());
  if (trace.waits.size() != trace.trace.jobs.size()) return out;
  const Time end = weeks.first + days(7) * static_cast<std::int64_t>(weeks.jobs.size());
  const Time begin = end - days(7) * static_cast<std::int64_t>(spec.weeks);
  for (std::size_t i = 0; i < trace.waits.size(); ++i) {
    const TraceJob& j = trace.trace.jobs[i];
    if (!trace.waits[i] || j.submitted < begin || j.submitted >= end) continue;
    const std::size_t c = trial::class_of(spec.targets, j.gpus);
    if (c == out.size()) continue;
    ++out[c].jobs;
    out[c].in_time += *trace.waits[i] <= spec.targets[c].wait ? 1 : 0;
  }
  return out;
}

std::optional<double> share(const trial::ClassMonth& m) {
  if (m.jobs == 0) return std::nullopt;
  return static_cast<double>(m.in_time) / static_cast<double>(m.jobs);
}

std::string range(const trial::ClassChance& c) {
  if (!c.in_time) return "-";
  return fmt::format("{:.1f} ({:.0f}-{:.0f})", 100 * *c.in_time, 100 * *c.in_time_p5, 100 * *c.in_time_p95);
}

report::Table table_of(const trial::HeldOut& h, const trial::CapacitySpec& spec, const std::vector<trial::ClassMonth>& then) {
  report::Table t;
  t.columns = {{.name = "GPUS", .csv = "gpus"},
               {.name = "JOBS", .right = true, .csv = "jobs"},
               {.name = "CAME %", .right = true, .csv = "came_pct"},
               {.name = "AS BEFORE %", .right = true, .csv = "as_before_pct"},
               {.name = "OFF", .right = true, .csv = "as_before_off_points"},
               {.name = "SAME DEMAND %", .right = true, .csv = "same_demand_pct"},
               {.name = "OFF", .right = true, .csv = "same_demand_off_points"},
               {.name = "LEVEL UNKNOWN %", .right = true, .csv = "level_unknown_pct"},
               {.name = "WEEKS MET", .right = true, .csv = "weeks_met"},
               {.name = "SAID %", .right = true, .csv = "week_met_as_before_pct"},
               {.name = "RECORDED %", .right = true, .csv = "recorded_pct"}};
  for (std::size_t c = 0; c < spec.targets.size(); ++c) {
    const trial::ClassMonth& m = h.came.classes[c];
    const auto came = share(m);
    const auto& said = h.no_growth.classes[c].week;
    const auto off = [&](const trial::CapacityPoint& p) {
      const auto& in_time = p.classes[c].in_time;
      return came && in_time ? fmt::format("{:+.1f}", 100 * (*in_time - *came)) : std::string("-");
    };
    t.rows.push_back({Cell(class_name(spec.targets, c)), Cell(report::render_count(static_cast<std::int64_t>(m.jobs))),
                      Cell(came ? fmt::format("{:.1f}", 100 * *came) : "-"), Cell(range(h.no_growth.classes[c])),
                      Cell(off(h.no_growth)), Cell(range(h.same_demand.classes[c])), Cell(off(h.same_demand)),
                      Cell(range(h.level_unknown.classes[c])), Cell(fmt::format("{} of {}", m.weeks_met, m.weeks)),
                      Cell(said ? fmt::format("{:.0f} ({:.0f}-{:.0f})", 100 * said->p, 100 * said->low, 100 * said->high) : "-"),
                      Cell(share(then[c]) ? fmt::format("{:.1f}", 100 * *share(then[c])) : "-")});
  }
  return t;
}

std::string render_json(const trial::HeldOut& h, const trial::CapacitySpec& spec, const std::vector<trial::ClassMonth>& then) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "CapacityHeldOut").field("gpus", spec.replay.gpus);
  w.field("weeks", spec.weeks).field("draws", spec.draws).field("demand_over_before", h.growth_came).key("classes").array();
  for (std::size_t c = 0; c < spec.targets.size(); ++c) {
    const trial::ClassMonth& m = h.came.classes[c];
    w.object()
        .field("class", class_key(spec.targets, c))
        .field("jobs", m.jobs)
        .field("weeks", m.weeks)
        .field("weeks_met", m.weeks_met);
    const auto put = [&](std::string_view key, const std::optional<double>& v) {
      w.key(key);
      if (v)
        w.value(*v);
      else
        w.null();
    };
    put("in_time_came", share(m));
    put("in_time_as_before", h.no_growth.classes[c].in_time);
    put("in_time_same_demand", h.same_demand.classes[c].in_time);
    put("in_time_level_unknown", h.level_unknown.classes[c].in_time);
    put("in_time_level_unknown_p5", h.level_unknown.classes[c].in_time_p5);
    put("in_time_level_unknown_p95", h.level_unknown.classes[c].in_time_p95);
    put("in_time_recorded", share(then[c]));
    const auto week = [](const trial::CapacityPoint& p, std::size_t k) {
      return p.classes[k].week ? std::optional<double>(p.classes[k].week->p) : std::nullopt;
    };
    put("week_met_as_before", week(h.no_growth, c));
    put("week_met_same_demand", week(h.same_demand, c));
    w.end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace

std::string class_name(const std::vector<trial::WaitTarget>& targets, std::size_t c) {
  const bool any = targets[c].gpus_max == kAnyGpus;
  if (c == 0) return any ? "ALL SIZES" : fmt::format("TO {}", targets[0].gpus_max);
  if (any) return fmt::format("OVER {}", targets[c - 1].gpus_max);
  return fmt::format("{}-{}", targets[c - 1].gpus_max + 1, targets[c].gpus_max);
}

std::string class_key(const std::vector<trial::WaitTarget>& targets, std::size_t c) {
  return targets[c].gpus_max == kAnyGpus ? std::string("any") : fmt::format("le_{}", targets[c].gpus_max);
}

std::string targets_text(const std::vector<trial::WaitTarget>& targets) {
  std::string s;
  for (std::size_t c = 0; c < targets.size(); ++c) {
    std::string name = class_name(targets, c);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char x) { return x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x; });
    s += fmt::format("{}{}: {:g} % of a week's jobs begin within {}", c == 0 ? "targets, by GPUs: " : "; ", name,
                     100 * targets[c].share, report::render_span(targets[c].wait));
  }
  if (const std::uint32_t most = targets.back().gpus_max; most != kAnyGpus) s += fmt::format("; larger than {}: no target", most);
  return s + "\n";
}

int show_held_out(const trial::TraceWeeks& weeks, const trial::CapacitySpec& given, const RecordedTrace& trace,
                  report::Format format, ProgressMode mode) {
  trial::CapacitySpec spec = given;
  Progress progress("held out", mode);
  double rounds = 0;
  spec.told = [&](double done) {
    progress.update((rounds + done) / 3);
    if (done >= 1) ++rounds;
  };
  const auto h = trial::hold_out(weeks, spec);
  if (!h) {
    return say_error({Code::bad_input, fmt::format("{} whole weeks are too few to hold {} out", weeks.jobs.size(), spec.weeks),
                      "give a longer record, or fewer --weeks"});
  }
  const auto then = recorded(weeks, spec, trace);
  if (format == report::Format::json) {
    put(render_json(*h, spec, then));
  } else if (format == report::Format::csv) {
    put(report::render_csv(table_of(*h, spec, then), true));
  } else {
    put(
        fmt::format("The last {} held out: jobs that began within their target, in percent; replayed on {} GPUs\n"
                    "The weeks asked for x{:.2f} of the GPU-hours of those before.\n\n",
                    report::counted(spec.weeks, "week"), report::render_count(spec.replay.gpus), h->growth_came));
    put(report::render_table(table_of(*h, spec, then), {true, false, false}));
    put("\ncame: the weeks' own submissions in the same replay (recorded waits are another scheduler's, and shown for "
        "information)\n"
        "as before: drawn from the weeks before, which is all that could be said then\n"
        "same demand: the draws scaled to the GPU-hours that came: how good the replay is, apart from the demand\n"
        "weeks met: of the held-out ones; said: the chance of one, from the weeks before\n"
        "level unknown: the level moved as it did between spans of weeks before, either way; in brackets nine draws in ten\n");
  }
  return finish_output();
}

}  // namespace muster::cmd
