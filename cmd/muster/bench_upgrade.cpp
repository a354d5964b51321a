// muster bench upgrade: a rolling driver upgrade of a busy cluster, beside the same hours without it.
#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "adapters/memory/journal.h"
#include "base/json_writer.h"
#include "base/node_list.h"
#include "commands.h"
#include "model/fields.h"
#include "progress.h"
#include "say.h"
#include "scene.h"
#include "trial/statistics.h"
#include "trial/upgrade_trial.h"

namespace muster::cmd {
namespace {

constexpr double kLossMax_pct = 2;
constexpr double kHoursMax = 24;
constexpr double kBoundTimes = 1.3;       // of the drain lower bound
constexpr std::uint32_t kCandidates = 3;  // named for each canary
constexpr int kExitFindings = 6;

struct Verdict {
  std::vector<trial::UpgradeRun> runs;
  trial::Estimate loss_pct;
  std::size_t above = 0;  // seeds that lost kLossMax_pct or more, each by itself
  std::vector<std::string> failed;
};

Verdict judge(std::vector<trial::UpgradeRun> runs, const BenchUpgradeOptions& o, std::size_t nodes) {
  Verdict v;
  std::vector<double> losses;
  for (const trial::UpgradeRun& r : runs) {
    const auto no = [&](std::string what) { v.failed.push_back(fmt::format("seed {}: {}", r.seed, what)); };
    losses.push_back(r.loss_pct);
    v.above += r.loss_pct >= kLossMax_pct ? 1 : 0;
    if (!r.violations.empty()) no(fmt::format("{} violations, the first: {}", r.violations.size(), r.violations.front()));
    if (o.bad) {
      if (r.phase != UpgradePhase::rolled_back) no(fmt::format("it is {} instead of rolled_back", name_of(r.phase)));
      if (r.nodes > 0) no(fmt::format("{} nodes still have the bad version", r.nodes));
      const std::uint32_t canaries =
          o.spec.canaries > 0 ? o.spec.canaries : std::max<std::uint32_t>(3, static_cast<std::uint32_t>(nodes / 100));
      if (r.reached > canaries) no(fmt::format("it reached {} nodes, there were {} canaries", r.reached, canaries));
      continue;
    }
    if (r.phase != UpgradePhase::done) no(fmt::format("it is {} after {:.1f} h", name_of(r.phase), r.took_h));
    if (r.took_h > kHoursMax) no(fmt::format("it took {:.1f} h", r.took_h));
    if (r.nodes + r.skipped < nodes) no(fmt::format("{} of {} nodes have it", r.nodes, nodes));
  }
  v.loss_pct = trial::estimate(losses);
  if (!o.bad && v.loss_pct.mean >= kLossMax_pct)
    v.failed.push_back(fmt::format("useful GPU-hours fell by {:.2f} %", v.loss_pct.mean));
  v.runs = std::move(runs);
  return v;
}

// As muster fleet upgrade would plan it: canaries from as many racks as there are.
void plan_as_fleet(UpgradeSpec& spec, const Site& site) {
  spec.parts = {{"driver", spec.version, spec.before}, {"fabricmanager", spec.version, spec.before}};
  spec.apart = "all ranks of a job need the same NCCL (C036)";
  spec.measured = true;
  const auto nodes = static_cast<std::uint32_t>(site.nodes.size());
  if (spec.canaries == 0) spec.canaries = std::min(nodes, std::max<std::uint32_t>(3, nodes / 100));
  const std::uint32_t named = std::min(nodes, spec.canaries * kCandidates);
  std::vector<std::string> names;
  for (std::uint32_t k = 0; k < named; ++k) names.push_back(site.nodes[std::size_t{k} * nodes / named].name);
  spec.canary_nodes = compress_node_list(std::move(names));
}

Verdict judge_waiting(std::vector<trial::UpgradeRun> runs, const BenchUpgradeOptions& o, std::size_t nodes) {
  Verdict v;
  for (const trial::UpgradeRun& r : runs) {
    const auto no = [&](std::string what) { v.failed.push_back(fmt::format("seed {}: {}", r.seed, what)); };
    if (!r.violations.empty()) no(fmt::format("{} violations, the first: {}", r.violations.size(), r.violations.front()));
    if (r.killed > 0) no(fmt::format("{} jobs were stopped for it", r.killed));
    if (r.mixed > 0) no(fmt::format("{} starts on nodes of both versions", r.mixed));
    if (r.most_away > r.budget) no(fmt::format("{} nodes were away for it, {} may be", r.most_away, r.budget));
    if (r.beyond_budget > 0) no(fmt::format("{} turns begun with the budget used up", r.beyond_budget));
    if (o.bad) {
      if (r.phase != UpgradePhase::rolled_back) no(fmt::format("it is {} instead of rolled_back", name_of(r.phase)));
      if (r.nodes > 0) no(fmt::format("{} nodes still have the broken version", r.nodes));
      continue;
    }
    if (r.phase != UpgradePhase::done) no(fmt::format("it is {} after {:.1f} h", name_of(r.phase), r.took_h));
    if (r.nodes + r.skipped < nodes) no(fmt::format("{} of {} nodes have it", r.nodes, nodes));
    if (r.back_h > kBoundTimes * r.bound_h) no(fmt::format("it took {:.1f} h, {:.1f} are needed", r.back_h, r.bound_h));
  }
  v.runs = std::move(runs);
  return v;
}

std::string json_of_waiting(const Verdict& v, const BenchUpgradeOptions& o) {
  JsonWriter w;
  w.object().field("gpus", o.twin.gpus).field("broken_version", o.bad).field("bound_times_max", kBoundTimes).key("runs").array();
  for (const trial::UpgradeRun& r : v.runs) {
    w.object().field("seed", r.seed).field("phase", name_of(r.phase)).field("why", r.why).field("took_h", r.took_h);
    w.field("back_h", r.back_h).field("bound_h", r.bound_h).field("turn_h", r.turn_h).field("nodes", r.nodes);
    w.field("reached", r.reached).field("bad", r.bad).field("skipped", r.skipped).field("installs", r.installs);
    w.field("killed", r.killed).field("mixed", r.mixed).field("budget", r.budget).field("most_away", r.most_away);
    w.field("beyond_budget", r.beyond_budget).field("faults", r.faults).field("violations", r.violations.size()).end_object();
  }
  w.end_array().key("not_kept").array();
  for (const std::string& f : v.failed) w.value(f);
  return w.end_array().end_object().take() + "\n";
}

std::string text_of_waiting(const Verdict& v, const BenchUpgradeOptions& o) {
  std::string s = fmt::format("A rolling upgrade of {} GPUs that waits for jobs{} (simulated)\n", o.twin.gpus,
                              o.bad ? ", to a version with which nodes do not come up" : "");
  for (const trial::UpgradeRun& r : v.runs) {
    s += fmt::format(
        "seed {:<4} {}: {} nodes have it ({} skipped), it reached {}, {} bad; {} jobs stopped, {} starts on both versions\n",
        r.seed, name_of(r.phase), r.nodes, r.skipped, r.reached, r.bad, r.killed, r.mixed);
    s += fmt::format("          at most {} of {} nodes away that may be; a turn took {:.0f} min\n", r.most_away, r.budget,
                     60 * r.turn_h);
    if (!o.bad)
      s += fmt::format("          the last node was back after {:.1f} h; at least {:.1f} h are needed: {:.2f} times that\n",
                       r.back_h, r.bound_h, r.bound_h > 0 ? r.back_h / r.bound_h : 0);
    if (!r.why.empty()) s += "          " + r.why + "\n";
  }
  for (const std::string& f : v.failed) s += "NOT KEPT: " + f + "\n";
  return s;
}

std::string json_of(const Verdict& v, const BenchUpgradeOptions& o) {
  JsonWriter w;
  w.object().field("gpus", o.twin.gpus).field("bad_version", o.bad).field("useful_loss_pct", v.loss_pct.mean);
  const auto bound = [&](std::string_view key, double value) { v.runs.size() > 1 ? w.field(key, value) : w.key(key).null(); };
  bound("useful_loss_low", v.loss_pct.low);
  bound("useful_loss_high", v.loss_pct.high);
  w.field("loss_max_pct", kLossMax_pct).field("seeds_above", v.above).key("runs").array();
  for (const trial::UpgradeRun& r : v.runs) {
    w.object().field("seed", r.seed).field("phase", name_of(r.phase)).field("why", r.why).field("took_h", r.took_h);
    w.field("useful_gpu_h", r.useful_h).field("useful_without_gpu_h", r.useful_without_h).field("loss_pct", r.loss_pct);
    w.field("busy_pct", r.allocated_pct)
        .field("nodes", r.nodes)
        .field("reached", r.reached)
        .field("bad", r.bad)
        .field("skipped", r.skipped);
    w.field("installs", r.installs).field("moves", r.moves).field("most_out", r.most_out).field("faults", r.faults);
    w.key("more_gpu_h").object();
    for (std::size_t k = 0; k < kWasteClasses; ++k) w.field(names(Waste{})[k], r.more_h[k]);
    w.end_object().field("violations", r.violations.size()).end_object();
  }
  w.end_array().key("not_kept").array();
  for (const std::string& f : v.failed) w.value(f);
  return w.end_array().end_object().take() + "\n";
}

std::string text_of_runs(const Verdict& v, const BenchUpgradeOptions& o) {
  std::string s = fmt::format("A rolling driver upgrade of {} GPUs under load{} (simulated)\n", o.twin.gpus,
                              o.bad ? ", with a version that hangs GPUs" : "");
  for (const trial::UpgradeRun& r : v.runs) {
    s += fmt::format(
        "seed {:<4} {} after {:.1f} h: {} nodes have it ({} skipped), it reached {}, {} bad, {} installs, {} jobs moved for it, "
        "{} faults\n",
        r.seed, name_of(r.phase), r.took_h, r.nodes, r.skipped, r.reached, r.bad, r.installs, r.moves, r.faults);
    s += fmt::format(
        "          {:.1f} % of the GPUs busy; useful GPU-hours {:.0f} instead of {:.0f}: {:+.2f} %; at most {} nodes out\n",
        r.allocated_pct, r.useful_h, r.useful_without_h, -r.loss_pct, r.most_out);
    s += "          GPU-hours more than without it:";
    for (std::size_t k = 0; k < kWasteClasses; ++k) s += fmt::format(" {} {:+.0f}", names(Waste{})[k], r.more_h[k]);
    s += "\n";
    if (!r.why.empty()) s += "          " + r.why + "\n";
  }
  s += fmt::format("useful GPU-hours fell by {:.2f} % ({})", v.loss_pct.mean,
                   v.runs.size() > 1 ? fmt::format("{:.2f} to {:.2f}, 95 % interval", v.loss_pct.low, v.loss_pct.high)
                                     : "one run: no interval");
  s += fmt::format("; by {:g} % or more in {} of {} seeds\n", kLossMax_pct, v.above, v.runs.size());
  for (const std::string& f : v.failed) s += "NOT KEPT: " + f + "\n";
  return s;
}

}  // namespace

int run_bench_upgrade(const BenchUpgradeOptions& o) {
  auto scene = build_scene(o.twin);
  if (!scene) return say_error(scene.error());
  trial::UpgradeTrialOptions t;
  t.twin = std::move(scene->twin);
  t.policy = std::move(scene->policy);
  t.first_seed = o.twin.seed;
  t.seeds = o.seeds;
  t.spec = o.spec;
  t.spec.what = "driver";
  t.spec.version = "590.44.01";
  t.spec.before = "580.159.04";
  const bool waits = o.spec.wait_for_jobs;
  if (o.bad) (waits ? t.twin.broken_version : t.twin.bad_driver) = t.spec.version;
  if (waits) {
    plan_as_fleet(t.spec, t.twin.site);
    t.beside = false;
    t.most = days(7);  // the longest jobs run for four days
  }
  t.threads = std::max(1U, std::thread::hardware_concurrency());
  t.make_journal = [] { return std::make_unique<MemoryJournal>(MemoryJournal::Keep::count); };
  const std::size_t nodes = t.twin.site.nodes.size();
  Progress progress("upgrading", o.progress);
  t.progress = [&](double done) { progress.update(done); };
  auto runs = trial::upgrade_trial(t);
  if (!runs) return say_error(runs.error());
  const Verdict v = waits ? judge_waiting(std::move(*runs), o, nodes) : judge(std::move(*runs), o, nodes);
  const bool json = o.format == report::Format::json;
  put(waits ? (json ? json_of_waiting(v, o) : text_of_waiting(v, o)) : json ? json_of(v, o) : text_of_runs(v, o));
  return v.failed.empty() ? 0 : kExitFindings;
}

}  // namespace muster::cmd
