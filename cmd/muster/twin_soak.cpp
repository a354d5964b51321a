// muster twin soak: many seeds, every invariant checked at each step.
#include <fmt/core.h>

#include <thread>

#include "adapters/memory/journal.h"
#include "base/json_writer.h"
#include "commands.h"
#include "progress.h"
#include "run_report.h"
#include "say.h"
#include "scene.h"
#include "trial/soak.h"

namespace muster::cmd {
namespace {

std::string render_json(const trial::SoakReport& r, const TwinSoakOptions& o) {
  const Usage u = usage();
  JsonWriter w;
  w.object()
      .field("seeds", r.seeds)
      .field("first_seed", o.first_seed)
      .field("runs", r.runs)
      .field("weather", fmt::format("x{}", o.twin.weather));
  w.field("faults", r.faults).field("detected", r.detected).field("missed", r.missed).field("false", r.false_alarms);
  w.field("actions", r.actions).field("refused", r.refusals).field("events", r.events).field("jobs_completed", r.jobs_completed);
  w.field("unfinished", r.unfinished).field("node_days", r.node_days);
  w.field("cpu_s", u.cpu_s).field("rss_mb", u.rss_mb).field("void", r.is_void);
  w.key("violations").array();
  for (const auto& v : r.violations) w.object().field("seed", v.seed).field("what", v.what).end_object();
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string render_text(const trial::SoakReport& r, const TwinSoakOptions& o) {
  std::string s = fmt::format(
      "{} seeds from {}, weather x{:g} (simulated)\nfaults     {} injected, {} detected, {} missed, {} false alarms\n"
      "drains     {:.2f} of sound nodes in 10,000 node-days ({:.0f} node-days)\n"
      "actions    {} ordered, {} held back by limits\njobs       {} completed\n"
      "violations {}: of budgets, of live jobs, of evidence, of tests before a return\nunfinished {} faults without an end\n"
      "CPU        {:.0f} s\n",
      r.seeds, o.first_seed, o.twin.weather, r.faults, r.detected, r.missed, r.false_alarms,
      r.node_days > 0 ? 1e4 * static_cast<double>(r.false_alarms) / r.node_days : 0, r.node_days, r.actions, r.refusals,
      r.jobs_completed, r.violations.size(), r.unfinished, usage().cpu_s);
  for (const auto& [kind, count] : r.false_kinds) s += fmt::format("  {} false: {}\n", count, kind);
  for (const auto& v : r.violations) s += fmt::format("  seed {}: {}\n", v.seed, v.what);
  if (r.is_void) s += "VOID: too few faults to prove anything; more seeds, days or weather are needed\n";
  return s;
}

}  // namespace

int run_twin_soak(const TwinSoakOptions& o) {
  auto scene = build_scene(o.twin);
  if (!scene) return say_error(scene.error());
  trial::SoakOptions soak;
  soak.run.twin = std::move(scene->twin);
  soak.run.policy = soak.run.must_hold = scene->policy;
  soak.run.length = from_seconds(o.days * 86400);
  soak.first_seed = o.first_seed;
  soak.seeds = o.seeds;
  soak.faults = o.faults;
  soak.faults_floor = std::min<std::uint64_t>(2000, 10ULL * o.seeds);
  soak.threads = std::max(1U, std::thread::hardware_concurrency());
  soak.make_journal = [] { return std::make_unique<MemoryJournal>(); };
  Result<trial::SoakReport> report = fail(Code::internal, "");
  {
    Progress progress("soaking", o.progress);
    soak.progress = [&](std::uint64_t runs, std::uint64_t faults) {
      const double seeds = static_cast<double>(runs) / o.seeds;
      progress.update(
          std::min(1.0, o.faults == 0 ? seeds : std::min(seeds, static_cast<double>(faults) / static_cast<double>(o.faults))));
    };
    report = trial::soak(soak);
  }
  if (!report) return say_error(report.error());
  put(o.format == report::Format::json ? render_json(*report, o) : render_text(*report, o));
  if (!report->violations.empty()) {
    say(fmt::format("reproduce: muster twin soak --seeds 1 --first-seed {} with the same other flags",
                    report->violations.front().seed));
    return 6;
  }
  return report->is_void ? 1 : 0;
}

}  // namespace muster::cmd
