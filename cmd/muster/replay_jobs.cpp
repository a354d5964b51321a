// muster replay jobs: a job trace through a scheduling policy, or through two side by side.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/json_writer.h"
#include "commands.h"
#include "files.h"
#include "ingest/job_trace.h"
#include "progress.h"
#include "report/chart.h"
#include "report/table.h"
#include "report/units.h"
#include "run_report.h"
#include "say.h"
#include "scene.h"
#include "trial/trace_figures.h"

namespace muster::cmd {
namespace {

using report::Cell;
using trial::ReplayFigures;
using trial::ReplayPolicy;
using trial::WaitFigures;

struct Run {
  std::string policy;
  trial::ReplaySpec spec;
  trial::Replay replay;
  ReplayFigures figures;
  double cpu_s = 0;
};

// Of the same estimates: muster over easy. None where easy's is zero.
std::optional<double> ratio(double muster, double easy) { return easy > 0 ? std::optional<double>(muster / easy) : std::nullopt; }

// Failures and slow gangs need nodes. Two that are compared get them both: half of a comparison on a kinder cluster is none.
bool wants_nodes(const ReplayJobsOptions& o) { return o.failures || o.slow_far; }

trial::ReplaySpec spec_of(const ReplayJobsOptions& o, const Site& site, const std::string& policy) {
  trial::ReplaySpec s;
  constexpr std::string_view kNames[] = {"fifo", "easy", "sjf", "las", "muster"};
  s.policy = static_cast<ReplayPolicy>(std::find(std::begin(kNames), std::end(kNames), policy) - std::begin(kNames));
  s.site = site;
  s.gpus = site.nodes.empty() ? o.gpus : site.gpus();
  s.pauses = !o.no_pauses;
  s.seed = o.seed;
  s.sigma = o.sigma;
  s.topology = o.topology == Switch::on ||
               (o.topology == Switch::automatic && (s.policy == ReplayPolicy::muster || (o.compare && wants_nodes(o))));
  s.slow_far = o.slow_far && s.topology;
  s.failures_per_gpu_hour = o.failures && s.topology ? trial::kFailuresPerGpuHour : 0;
  return s;
}

Result<void> check(const ReplayJobsOptions& o, const trial::ReplaySpec& s) {
  if (s.policy == ReplayPolicy::las && s.topology) {
    return fail(Code::bad_input, "las knows GPU counts only", "leave out --topology");
  }
  if (wants_nodes(o) && !s.topology) {
    std::string next = "add --topology, or use --policy muster";
    if (s.policy == ReplayPolicy::las) next = "las knows GPU counts only: use another policy";
    if (o.topology == Switch::off) next = "leave out --no-topology";
    return fail(Code::bad_input,
                fmt::format("{} needs nodes, and this replay has GPU counts only", o.failures ? "--failures" : "--slow-far"),
                next);
  }
  if (o.no_pauses && s.policy != ReplayPolicy::muster && !o.compare) {
    return fail(Code::bad_input, fmt::format("--no-pauses is for the policy muster, not for {}", o.policy), "leave it out");
  }
  return {};
}

Run run(const ReplayJobsOptions& o, const Site& site, const std::string& policy, const std::vector<TraceJob>& jobs) {
  Run r;
  r.policy = policy;
  r.spec = spec_of(o, site, policy);
  const double before = usage().cpu_s;
  Progress progress(policy, o.progress);
  r.replay = trial::replay_jobs(jobs, r.spec, [&](double done) { progress.update(done); });
  r.figures = trial::figures_of(r.replay);
  r.cpu_s = usage().cpu_s - before;
  return r;
}

void write_waits(JsonWriter& w, const WaitFigures& f) {
  w.key("wait_s").object().field("mean", f.mean).field("p50", f.p50).field("p95", f.p95).field("p99", f.p99).field("max", f.max);
  w.end_object().field("slowdown_mean", f.slowdown_mean);
}

void write_run(JsonWriter& w, const Run& r, const JobTrace& trace) {
  const trial::Replay& x = r.replay;
  w.object().field("policy", r.policy).field("gpus", r.spec.gpus).field("topology", r.spec.topology);
  if (!r.spec.site.nodes.empty()) w.field("cluster", r.spec.site.name);
  if (r.spec.policy == ReplayPolicy::muster) w.field("may_pause", r.spec.pauses);
  w.field("failures", r.spec.failures_per_gpu_hour > 0).field("slow_far", r.spec.slow_far);
  w.field("seed", r.spec.seed).field("sigma", r.spec.sigma).field("jobs", r.figures.all.jobs);
  w.key("left_out").object().field("too_large", x.too_large).field("without_gpus", trace.without_gpus);
  w.field("without_run", trace.without_run).end_object();
  write_waits(w, r.figures.all);
  w.field("utilisation", x.utilisation(r.spec.gpus)).field("makespan_s", (x.ended - x.began).seconds()).field("cpu_s", r.cpu_s);
  w.key("leaves_ratio");
  if (x.leaves_min > 0)
    w.value(static_cast<double>(x.leaves) / static_cast<double>(x.leaves_min));
  else
    w.null();
  w.field("pauses", x.pauses).field("node_failures", x.failures).field("lost_gpu_h", x.lost_gpu_s / 3600);
  w.key("by_size").array();
  for (std::size_t i = 0; i < r.figures.by_size.size(); ++i) {
    const WaitFigures& f = r.figures.by_size[i];
    if (f.jobs == 0) continue;
    w.object().field("gpus", trial::size_classes()[i].name).field("jobs", f.jobs);
    write_waits(w, f);
    w.end_object();
  }
  w.end_array().end_object();
}

void write_ratio(JsonWriter& w, std::string_view key, double muster, double easy) {
  w.key(key);
  if (const auto x = ratio(muster, easy))
    w.value(*x);
  else
    w.null();
}

std::string render_json(const std::vector<Run>& runs, const JobTrace& trace) {
  JsonWriter w;
  if (runs.size() == 1) {
    write_run(w, runs[0], trace);
    return w.take() + "\n";
  }
  w.object();
  for (const Run& r : runs) {
    w.key(r.policy);
    write_run(w, r, trace);
  }
  const ReplayFigures &easy = runs[0].figures, &ours = runs[1].figures;
  w.key("ratios").object();
  write_ratio(w, "wait_mean", ours.all.mean, easy.all.mean);
  write_ratio(w, "wait_p95", ours.all.p95, easy.all.p95);
  write_ratio(w, "wait_p99", ours.all.p99, easy.all.p99);
  write_ratio(w, "wait_max", ours.all.max, easy.all.max);
  write_ratio(w, "slowdown_mean", ours.all.slowdown_mean, easy.all.slowdown_mean);
  w.key("wait_p99_by_size").object();
  for (std::size_t i = 0; i < easy.by_size.size(); ++i) {
    if (easy.by_size[i].jobs > 0) write_ratio(w, trial::size_classes()[i].name, ours.by_size[i].p99, easy.by_size[i].p99);
  }
  w.end_object().end_object().end_object();
  return w.take() + "\n";
}

std::string span(double s) { return report::render_span(from_seconds(s)); }

report::Table table_of(const std::vector<Run>& runs) {
  report::Table t;
  t.columns = {{"GPUS", false, false}, {"JOBS", true, false}};
  for (const Run& r : runs) {
    const std::string of = runs.size() > 1 ? r.policy + " " : "";
    for (const char* name : {"mean", "p50", "p95", "p99", "max", "slowdown"}) {
      if (runs.size() > 1 && (std::string_view(name) == "p50" || std::string_view(name) == "p95")) continue;
      std::string column = of + name;
      std::transform(column.begin(), column.end(), column.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
      t.columns.push_back({column, true, false});
    }
  }
  if (runs.size() > 1) t.columns.push_back({"P99 RATIO", true, false});
  const auto row = [&](const std::string& name, const auto& figures) {
    std::vector<Cell> cells = {Cell(name), Cell(report::render_count(static_cast<std::int64_t>(figures(runs[0]).jobs)))};
    for (const Run& r : runs) {
      const WaitFigures& f = figures(r);
      cells.emplace_back(span(f.mean));
      if (runs.size() == 1) cells.emplace_back(span(f.p50));
      if (runs.size() == 1) cells.emplace_back(span(f.p95));
      for (const double v : {f.p99, f.max}) cells.emplace_back(span(v));
      cells.emplace_back(fmt::format("{:.2f}", f.slowdown_mean));
    }
    if (runs.size() > 1) {
      const auto x = ratio(figures(runs[1]).p99, figures(runs[0]).p99);
      cells.emplace_back(x ? fmt::format("{:.2f}", *x) : "-", x && *x > 1 ? report::Tone::warn : report::Tone::plain);
    }
    t.rows.push_back(std::move(cells));
  };
  for (std::size_t i = 0; i < trial::size_classes().size(); ++i) {
    if (runs[0].figures.by_size[i].jobs == 0) continue;
    row(trial::size_classes()[i].name, [i](const Run& r) -> const WaitFigures& { return r.figures.by_size[i]; });
  }
  row("all", [](const Run& r) -> const WaitFigures& { return r.figures.all; });
  return t;
}

report::Chart chart_of(const std::vector<Run>& runs, const std::string& trace) {
  report::Chart c;
  c.title = fmt::format("{} on {} GPUs, {}", trace.substr(trace.rfind('/') + 1), runs[0].spec.gpus, runs[0].policy);
  if (runs.size() > 1) c.title += " and " + runs[1].policy;
  report::Panel queue{"jobs queued, busiest hour", 0, {}, true};
  report::Panel used{fmt::format("GPUs in use, of {}", runs[0].spec.gpus), static_cast<double>(runs[0].spec.gpus), {}, false};
  std::size_t longest = 0;
  Time ended = runs[0].replay.ended;
  for (const Run& r : runs) {
    longest = std::max(longest, r.replay.series.size());
    ended = std::max(ended, r.replay.ended);
  }
  // Dates where days are told apart, and times of the day for what ends within two.
  const Duration whole = ended - runs[0].replay.began;
  const auto label = [&](double share) {
    const std::string at = render_utc(runs[0].replay.began + from_seconds(whole.seconds() * share));
    return whole > days(2) ? at.substr(0, 10) : at.substr(11, 5);
  };
  c.begin = label(0);
  c.end = label(1);
  for (const double share : {0.25, 0.5, 0.75}) c.between.push_back(label(share));
  for (const Run& r : runs) {
    report::Line q{r.policy, {}}, u{r.policy, {}};
    for (std::size_t i = 0; i < longest; ++i) {
      const trial::ReplaySample s = i < r.replay.series.size() ? r.replay.series[i] : trial::ReplaySample{};
      q.values.push_back(s.queued);
      u.values.push_back(s.used_gpus);
    }
    queue.lines.push_back(std::move(q));
    used.lines.push_back(std::move(u));
  }
  c.panels = {std::move(queue), std::move(used)};
  return c;
}

std::string where_of(const trial::ReplaySpec& s) {
  if (!s.topology) return "counts only";
  if (s.site.nodes.empty()) return "nodes of 8, leaves of 32 nodes";
  return fmt::format("{}: {} nodes of {}, {} {}, {} {}", s.site.name,
                     report::render_count(static_cast<std::int64_t>(s.site.nodes.size())), s.site.gpus_per_node, s.site.leaves,
                     s.site.leaves == 1 ? "leaf" : "leaves", s.site.pods, s.site.pods == 1 ? "pod" : "pods");
}

std::string sentence_of(const Run& r) {
  const trial::Replay& x = r.replay;
  std::string s = fmt::format("{}: {} jobs on {} GPUs ({}), utilisation {:.1f} %, makespan {}, {:.2f} s of CPU", r.policy,
                              report::render_count(static_cast<std::int64_t>(r.figures.all.jobs)), r.spec.gpus, where_of(r.spec),
                              100 * x.utilisation(r.spec.gpus), span((x.ended - x.began).seconds()), r.cpu_s);
  if (x.leaves_min > 0) {
    s += fmt::format(", leaves over fewest {:.3f}", static_cast<double>(x.leaves) / static_cast<double>(x.leaves_min));
  }
  if (x.failures > 0) s += fmt::format(", {} node failures", x.failures);
  if (r.spec.policy == ReplayPolicy::muster && !r.spec.pauses) s += ", no pauses";
  if (x.pauses > 0) s += fmt::format(", {} pauses", report::render_count(static_cast<std::int64_t>(x.pauses)));
  if (x.lost_gpu_s > 0) s += fmt::format(", {:.0f} GPU-hours done again or spent on restarts", x.lost_gpu_s / 3600);
  return s + "\n";
}

// The replay's muster is not the shipped policy in this one thing, and most of the gain at p99 hangs on it.
constexpr std::string_view kAboutPauses =
    "muster let long jobs step aside at checkpoints (in a policy: `scheduling: pause: true`; shipped: false);\n"
    "--no-pauses shows it without\n";

std::string render_text(const std::vector<Run>& runs, const std::string& trace) {
  std::string out;
  for (const Run& r : runs) out += sentence_of(r);
  if (runs.back().spec.policy == ReplayPolicy::muster && runs.back().spec.pauses) out += kAboutPauses;
  out += "\nWait by size of job\n";
  out += report::render_table(table_of(runs), {true, false, colour_wanted() && stdout_is_terminal()});
  if (runs.size() > 1) {
    const WaitFigures &easy = runs[0].figures.all, &ours = runs[1].figures.all;
    const auto say_ratio = [](double a, double b) { return b > 0 ? fmt::format("{:.3f}", a / b) : std::string("-"); };
    out += fmt::format("\nmuster over easy: p99 wait {}, mean slowdown {}, longest wait {}, mean wait {}\n",
                       say_ratio(ours.p99, easy.p99), say_ratio(ours.slowdown_mean, easy.slowdown_mean),
                       say_ratio(ours.max, easy.max), say_ratio(ours.mean, easy.mean));
  }
  return out + "\n" + report::render_terminal(chart_of(runs, trace), {78, 5, stdout_is_terminal()});
}

void say_what_is_left_out(const JobTrace& trace, const Run& r) {
  const auto tell = [](std::uint64_t n, std::string_view why) {
    if (n > 0) say(fmt::format("left out: {} job{} that {}", n, n == 1 ? "" : "s", why));
  };
  if (trace.in_milliseconds) say("a trace of the Muri simulator (iterations, iteration_time): its times are milliseconds");
  tell(trace.without_gpus, "asked for no GPU");
  tell(trace.without_run, "ran for no time (duration 0)");
  const bool models = !r.spec.site.nodes.empty();
  tell(r.replay.too_large,
       fmt::format("asked for more than {} GPUs{}", r.spec.gpus, models ? ", or than the cluster has of their model" : ""));
  const bool named = std::any_of(trace.jobs.begin(), trace.jobs.end(), [](const TraceJob& j) { return !j.model.empty(); });
  if (named && !models) say("the GPU models that jobs name are not looked at: a plain cluster has one (--cluster gives others)");
  if (named && models && !r.spec.topology) say(fmt::format("{} counts GPUs and looks at no model (--topology places)", r.policy));
}

// A queue that can only grow takes long to run through, and its waits say more about the size of the cluster than the policy.
void say_if_too_small(const JobTrace& trace, std::uint32_t gpus) {
  double asked = 0;
  for (const TraceJob& j : trace.jobs) asked += j.gpus <= gpus ? j.run.seconds() * j.gpus : 0;
  const double span = (trace.jobs.back().submitted - trace.jobs.front().submitted).seconds();
  if (trace.jobs.size() < 100 || span <= 0 || asked <= 1.5 * span * gpus) return;
  say(fmt::format("the jobs ask for {:.1f} times what {} GPUs can do while they come: the queue grows to the end of the trace",
                  asked / (span * gpus), gpus));
}

Result<JobTrace> load(const ReplayJobsOptions& o) {
  const auto bytes = read_file(o.trace);
  if (!bytes) return tl::unexpected(bytes.error());
  auto trace = parse_job_trace(*bytes, o.trace);
  if (!trace) return trace;
  if (trace->jobs.empty()) {
    const auto why =
        trace->without_gpus + trace->without_run == 0
            ? std::string("it has a header and no jobs")
            : fmt::format("{} asked for no GPU, {} ran for no time (duration 0)", trace->without_gpus, trace->without_run);
    return fail(Code::bad_input, fmt::format("{}: no job to run: {}", o.trace, why), "give another trace");
  }
  const Time first = trace->jobs.front().submitted;
  if (o.speedup != 1) {
    for (TraceJob& j : trace->jobs) j.submitted = first + from_seconds((j.submitted - first).seconds() / o.speedup);
  }
  return trace;
}

}  // namespace

int run_replay_jobs(const ReplayJobsOptions& o) {
  const std::vector<std::string> policies =
      o.compare ? std::vector<std::string>{"easy", "muster"} : std::vector<std::string>{o.policy};
  Site site;
  if (!o.cluster.empty()) {
    auto loaded = load_cluster(o.cluster);
    if (!loaded) return say_error(loaded.error());
    site = std::move(*loaded);
  }
  for (const std::string& p : policies) {
    if (auto ok = check(o, spec_of(o, site, p)); !ok) return say_error(ok.error());
  }
  const auto trace = load(o);
  if (!trace) return say_error(trace.error());
  say_if_too_small(*trace, site.nodes.empty() ? o.gpus : site.gpus());
  std::vector<Run> runs;
  for (const std::string& p : policies) runs.push_back(run(o, site, p, trace->jobs));
  if (runs[0].figures.all.jobs == 0) {
    return say_error({Code::bad_input, fmt::format("every job of {} asks for more than {} GPUs", o.trace, runs[0].spec.gpus),
                      o.cluster.empty() ? "give more --gpus" : "give a larger cluster, or one with the models the jobs ask for"});
  }
  say_what_is_left_out(*trace, runs[0]);
  if (!o.svg.empty()) {
    if (auto ok = write_file(o.svg, report::render_svg(chart_of(runs, o.trace))); !ok) return say_error(ok.error());
    say("wrote " + o.svg);
  }
  put(o.format == report::Format::json ? render_json(runs, *trace) : render_text(runs, o.trace));
  return finish_output();
}

}  // namespace muster::cmd
