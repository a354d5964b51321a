// muster twin soak: many seeds, every invariant checked at each step; then, in usual weather, how often sound nodes are drained.
#include <fmt/core.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "adapters/memory/journal.h"
#include "base/json_writer.h"
#include "commands.h"
#include "ingest/workload_file.h"
#include "progress.h"
#include "run_report.h"
#include "say.h"
#include "scene.h"
#include "trial/soak.h"

namespace muster::cmd {
namespace {

constexpr double kFairDays = 14;         // of each seed at weather x1: long enough that its beginning does not matter
constexpr double kFaultsPerNodeDay = 5;  // with --faults N, N / 5 node-days at x1: 200,000 for a million

struct Part {
  trial::SoakReport report;
  double cpu_s = 0;
};
struct Soaked {
  Part storm;
  std::optional<Part> fair;  // at x1; nothing where it was not asked for, or the storm was none
  trial::FalseDrains drains;

  std::uint64_t broken() const {
    std::uint64_t sum = storm.report.violations.size() + (fair ? fair->report.violations.size() : 0);
    return sum + (drains.verdict == trial::FalseDrains::Verdict::broken ? 1 : 0);
  }
  trial::RuleCounts rules() const {
    trial::RuleCounts all = storm.report.broken;
    for (std::size_t i = 0; fair && i < all.size(); ++i) all[i] += fair->report.broken[i];
    return all;
  }
};

std::string_view words_of(trial::FalseDrains::Verdict v) {
  switch (v) {
    case trial::FalseDrains::Verdict::held: return "held";
    case trial::FalseDrains::Verdict::broken: return "broken";
    case trial::FalseDrains::Verdict::open: break;
  }
  return "open";
}

void put_part(JsonWriter& w, const Part& part) {
  const trial::SoakReport& r = part.report;
  w.field("runs", r.runs).field("faults", r.faults).field("detected", r.detected).field("missed", r.missed);
  w.field("false", r.false_alarms).field("actions", r.actions).field("refused", r.refusals).field("events", r.events);
  w.field("jobs_completed", r.jobs_completed).field("unfinished", r.unfinished);
  w.field("left_to_people", r.left_to_people).field("node_days", r.node_days);
  w.key("false_kinds").object();
  for (const auto& [kind, count] : r.false_kinds) w.field(kind, count);
  w.end_object();
}

void put_violations(JsonWriter& w, const Part& part, double weather) {
  for (const auto& v : part.report.violations) {
    w.object().field("seed", v.seed).field("weather", fmt::format("x{}", weather)).field("what", v.what).end_object();
  }
}

std::string render_json(const Soaked& s, const TwinSoakOptions& o) {
  const Usage u = usage();
  JsonWriter w;
  w.object().field("seeds", s.storm.report.seeds).field("first_seed", o.first_seed);
  w.field("weather", fmt::format("x{}", o.twin.weather));
  put_part(w, s.storm);
  w.field("cpu_s", u.cpu_s).field("faults_per_cpu_s", static_cast<double>(s.storm.report.faults) / std::max(1e-3, s.storm.cpu_s));
  w.field("rss_mb", u.rss_mb).field("void", s.storm.report.is_void);
  if (s.fair) {
    w.key("x1").object();
    put_part(w, *s.fair);
    w.field("cpu_s", s.fair->cpu_s).end_object();
  }
  if (s.fair || o.twin.weather == 1) {
    w.key("false_drains").object().field("per_10000_node_days", s.drains.rate).field("low", s.drains.low);
    w.field("high", s.drains.high)
        .field("most", trial::kFalseDrainsMax)
        .field("verdict", words_of(s.drains.verdict))
        .end_object();
  }
  const trial::RuleCounts rules = s.rules();
  w.key("broken").object();
  for (std::size_t i = 0; i < rules.size(); ++i) w.field(name_of(static_cast<trial::Rule>(i)), rules[i]);
  w.end_object();
  w.key("violations").array();
  put_violations(w, s.storm, o.twin.weather);
  if (s.fair) put_violations(w, *s.fair, 1);
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string part_text(const Part& part, std::string_view title) {
  const trial::SoakReport& r = part.report;
  std::string s = fmt::format(
      "{}\nfaults     {} injected, {} detected, {} missed\n"
      "actions    {} ordered, {} held back by limits\njobs       {} completed\n"
      "drains     {} of sound nodes in {:.0f} node-days\n",
      title, r.faults, r.detected, r.missed, r.actions, r.refusals, r.jobs_completed, r.false_alarms, r.node_days);
  for (const auto& [kind, count] : r.false_kinds) s += fmt::format("             {} by {}\n", count, kind);
  if (r.left_to_people > 0)
    s += fmt::format("by policy  {} faults found and left to people: it does not act on them\n", r.left_to_people);
  return s + fmt::format("CPU        {:.0f} s, {:.0f} faults per CPU-s\n", part.cpu_s,
                         static_cast<double>(r.faults) / std::max(1e-3, part.cpu_s));
}

std::string drains_text(const trial::FalseDrains& d) {
  const std::string_view verdict = d.verdict == trial::FalseDrains::Verdict::held     ? "held"
                                   : d.verdict == trial::FalseDrains::Verdict::broken ? "BROKEN"
                                                                                      : "open, more node-days at x1 would tell";
  return fmt::format(
      "false drains at x1: {:.2f} in 10,000 node-days, {:.2f} to {:.2f} ({:.0f} % confidence each); at most {:g} is promised: "
      "{}\n",
      d.rate, d.low, d.high, 100 * trial::kFalseDrainConfidence, trial::kFalseDrainsMax, verdict);
}

std::string render_text(const Soaked& s, const TwinSoakOptions& o) {
  std::string out = part_text(
      s.storm, fmt::format("{} seeds from {}, weather x{:g} (simulated)", s.storm.report.seeds, o.first_seed, o.twin.weather));
  if (s.fair) {
    out += part_text(
        *s.fair, fmt::format("\n{} seeds from {}, weather x1, {:g} days each", s.fair->report.seeds, o.first_seed, kFairDays));
  }
  if (s.fair || o.twin.weather == 1) out += drains_text(s.drains);
  out += "\nviolations\n";
  const trial::RuleCounts rules = s.rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    out += fmt::format("{:>8} {}\n", rules[i], trial::words_of(static_cast<trial::Rule>(i)));
  }
  for (const auto& v : s.storm.report.violations) out += fmt::format("  seed {}: {}\n", v.seed, v.what);
  for (int n = 0; s.fair && n < static_cast<int>(s.fair->report.violations.size()); ++n) {
    const auto& v = s.fair->report.violations[static_cast<std::size_t>(n)];
    out += fmt::format("  seed {} at x1: {}\n", v.seed, v.what);
  }
  out += fmt::format("CPU        {:.0f} s in all\n", usage().cpu_s);
  if (s.storm.report.is_void) out += "VOID: too few faults to prove anything; more seeds, days or weather are needed\n";
  return out;
}

void log_seed(std::ofstream& log, const trial::RunReport& r) {
  JsonWriter w;
  w.object().field("seed", r.seed).field("weather", fmt::format("x{}", r.weather)).field("faults", r.marks.injected);
  w.field("missed", r.marks.missed).field("false", r.marks.false_alarms).field("node_days", r.node_days);
  w.field("events", r.events).field("cpu_s", usage().cpu_s).key("violations").array();
  for (const std::string& v : r.violations) w.value(v);
  w.end_array().end_object();
  log << w.take() << std::endl;  // flushed: what is known must survive a soak that is broken off
}

Result<Part> play(trial::SoakOptions soak, const TwinSoakOptions& o, const char* what) {
  const double before = usage().cpu_s;
  Progress progress(what, o.progress);
  soak.progress = [&](std::uint64_t runs, std::uint64_t faults) {
    const double seeds = static_cast<double>(runs) / static_cast<double>(soak.seeds);
    const double struck = soak.faults == 0 ? 1 : static_cast<double>(faults) / static_cast<double>(soak.faults);
    progress.update(std::min({1.0, seeds, struck}), fmt::format("{} faults in {} seeds", faults, runs));
  };
  auto report = trial::soak(soak);
  if (!report) return tl::unexpected(report.error());
  return Part{std::move(*report), usage().cpu_s - before};
}

// The same cluster, work and policy in usual weather, for so many node-days.
trial::SoakOptions at_x1(trial::SoakOptions soak, double node_days) {
  const double of_one = kFairDays * static_cast<double>(soak.run.twin.site.nodes.size());
  soak.run.twin.weather.factor = 1;
  soak.run.length = from_seconds(kFairDays * 86400);
  soak.seeds = static_cast<std::uint64_t>(std::ceil(node_days / of_one));
  soak.faults = soak.faults_floor = 0;
  return soak;
}

}  // namespace

int run_twin_soak(const TwinSoakOptions& o) {
  // Only the weather strikes here: seeds would be played for ever.
  if (o.faults > 0 && o.twin.weather <= 0) {
    return say_error({Code::bad_input, fmt::format("--faults {}: without weather no fault ever strikes", o.faults),
                      "give --weather xN with N above 0, or leave out --faults"});
  }
  auto scene = build_scene(o.twin);
  if (!scene) return say_error(scene.error());
  if (o.load || is_mix_flag(o.twin.jobs)) scene->twin.workload.load = o.load.value_or(kSoakLoad);
  std::ofstream log;
  if (!o.log.empty()) {
    log.open(o.log, std::ios::app);
    if (!log) return say_error({Code::bad_input, "cannot write " + o.log, "name a file in a folder that is there and yours"});
  }
  trial::SoakOptions soak;
  soak.run.twin = std::move(scene->twin);
  soak.run.policy = soak.run.must_hold = scene->policy;
  soak.run.length = from_seconds(o.days * 86400);
  soak.first_seed = o.first_seed;
  soak.seeds = o.seeds;
  soak.faults = o.faults;
  soak.faults_floor = o.twin.weather == 1 ? 0 : std::min<std::uint64_t>(2000, 10ULL * o.seeds);
  soak.threads = std::max(1U, std::thread::hardware_concurrency());
  soak.make_journal = [] { return std::make_unique<MemoryJournal>(MemoryJournal::Keep::count); };
  if (log.is_open()) soak.on_seed = [&](const trial::RunReport& r) { log_seed(log, r); };
  auto storm = play(soak, o, "soaking");
  if (!storm) return say_error(storm.error());
  Soaked all{std::move(*storm), std::nullopt, {}};
  const double node_days = o.x1_node_days.value_or(static_cast<double>(o.faults) / kFaultsPerNodeDay);
  if (o.twin.weather != 1 && node_days > 0) {
    auto fair = play(at_x1(soak, node_days), o, "weather x1");
    if (!fair) return say_error(fair.error());
    all.fair = std::move(*fair);
  }
  const trial::SoakReport& usual = all.fair ? all.fair->report : all.storm.report;
  if (all.fair || o.twin.weather == 1) all.drains = trial::judge_false_drains(usual.false_alarms, usual.node_days);
  put(o.format == report::Format::json ? render_json(all, o) : render_text(all, o));
  const auto reproduce = [](const Part& part, std::string_view flags) {
    if (part.report.violations.empty()) return;
    say(fmt::format("reproduce: muster twin soak --seeds 1 --first-seed {} {}with the same other flags",
                    part.report.violations.front().seed, flags));
  };
  reproduce(all.storm, "");
  if (all.fair) reproduce(*all.fair, fmt::format("--weather x1 --days {:g} ", kFairDays));
  if (all.broken() > 0) return 6;
  return all.storm.report.is_void ? 1 : 0;
}

}  // namespace muster::cmd
