#include "run_report.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include "base/json_writer.h"

namespace muster::cmd {
namespace {

double hours_of(std::int64_t ms) { return static_cast<double>(ms) / 3.6e6; }

void write_hours(JsonWriter& w, const GpuHours& g) {
  w.key("gpu_hours").object().field("installed", hours_of(g.installed_ms));
  for (std::size_t i = 0; i < kWasteClasses; ++i) w.field(names(Waste{})[i], hours_of(g.ms[i]));
  w.end_object();
  // The same, exact: the classes sum to what is installed.
  w.key("gpu_ms").object().field("installed", g.installed_ms);
  for (std::size_t i = 0; i < kWasteClasses; ++i) w.field(names(Waste{})[i], g.ms[i]);
  w.end_object();
}

}  // namespace

Usage usage() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  const auto s = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return {s(r.ru_utime) + s(r.ru_stime), static_cast<double>(r.ru_maxrss) / 1024.0};
}

std::string render_run_json(const trial::RunReport& r, const std::optional<Usage>& u) {
  JsonWriter w;
  w.object().field("seed", r.seed).field("gpus", r.gpus).field("days", r.days).field("events", r.events);
  w.field("samples", r.samples).field("turns", r.turns);
  if (u) {
    const double cpu_s = std::max(u->cpu_s, 1e-9);
    w.field("cpu_s", u->cpu_s).field("rss_mb", u->rss_mb);
    w.field("events_per_cpu_s", static_cast<double>(r.events) / cpu_s)
        .field("samples_per_cpu_s", static_cast<double>(r.samples) / cpu_s);
  }
  w.field("digest", r.digest);
  write_hours(w, r.hours);
  w.key("goodput");
  r.goodput < 0 ? w.null() : w.value(r.goodput);
  w.field("allocated", r.allocated_share).field("weather", fmt::format("x{}", r.weather));
  w.key("jobs").object().field("submitted", r.totals.jobs_submitted).field("completed", r.totals.jobs_completed);
  w.field("requeued", r.totals.requeues).field("lost", r.jobs_lost).field("timed_out", r.totals.jobs_timed_out).end_object();
  w.key("faults").object().field("injected", r.marks.injected).field("detected", r.marks.detected);
  w.field("missed", r.marks.missed).field("false", r.marks.false_alarms);
  w.field("left_open", r.marks.unfinished + r.marks.left_to_people);
  w.key("missed_kinds").object();
  for (const auto& [kind, n] : r.marks.missed_kinds) w.field(kind, n);
  w.end_object().end_object();
  w.key("mttr_s").object().key("p50");
  r.marks.healed == 0 ? w.null() : w.value(r.marks.mttr_p50_s);
  w.key("p99");
  r.marks.healed == 0 ? w.null() : w.value(r.marks.mttr_p99_s);
  w.end_object();
  // Over all faults of nodes, healed or not: what is open counts until the end.
  w.key("outage_s").object().key("p50");
  r.marks.on_nodes == 0 ? w.null() : w.value(r.marks.outage_p50_s);
  w.key("p99");
  r.marks.on_nodes == 0 ? w.null() : w.value(r.marks.outage_p99_s);
  w.end_object().field("largest_drain", r.marks.most_out);
  w.field("incidents", r.totals.incidents).field("actions", r.totals.orders).field("refused", r.totals.refusals);
  w.key("violations").array();
  for (const std::string& v : r.violations) w.value(v);
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string render_run_text(const trial::RunReport& r, const Usage& u) {
  const auto pct = [&](std::int64_t ms) {
    return r.hours.installed_ms == 0 ? 0.0 : 100.0 * static_cast<double>(ms) / static_cast<double>(r.hours.installed_ms);
  };
  std::string s = fmt::format("{} GPUs, {:g} day{}, seed {}, weather x{:g} (simulated)\n\n", r.gpus, r.days,
                              r.days == 1 ? "" : "s", r.seed, r.weather);
  s += fmt::format("GPU-hours  {:>14.1f}  installed\n", hours_of(r.hours.installed_ms));
  for (std::size_t i = 0; i < kWasteClasses; ++i) {
    s += fmt::format("           {:>14.1f}  {:<13} {:6.2f} %\n", hours_of(r.hours.ms[i]), names(Waste{})[i], pct(r.hours.ms[i]));
  }
  if (r.goodput >= 0) s += fmt::format("goodput    {:>14.4f}  useful / (installed - idle - unsettled)\n", r.goodput);
  s += fmt::format("\njobs       {} submitted, {} completed, {} requeues, {} given up\n", r.totals.jobs_submitted,
                   r.totals.jobs_completed, r.totals.requeues, r.jobs_lost);
  s += fmt::format("faults     {} injected, {} detected, {} missed, {} false alarms\n", r.marks.injected, r.marks.detected,
                   r.marks.missed, r.marks.false_alarms);
  s += fmt::format("healing    p50 {}, p99 {} from the fault to the node back in service\n",
                   render_duration(from_seconds(r.marks.mttr_p50_s)), render_duration(from_seconds(r.marks.mttr_p99_s)));
  s += fmt::format("actions    {} ordered, {} held back by limits, {} incidents\n", r.totals.orders, r.totals.refusals,
                   r.totals.incidents);
  s += fmt::format(
      "work       {} events and {} samples in {} turns; {:.1f} CPU-s, {:.0f} MB, {:.0f} events and samples per CPU-s\n", r.events,
      r.samples, r.turns, u.cpu_s, u.rss_mb, static_cast<double>(r.events + r.samples) / std::max(u.cpu_s, 1e-9));
  s += fmt::format("digest     {}\n", r.digest);
  for (const std::string& v : r.violations) s += fmt::format("VIOLATION  {}\n", v);
  return s;
}

}  // namespace muster::cmd
