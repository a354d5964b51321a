// muster bench upgrade: a rolling driver upgrade of a busy cluster, beside the same hours without it.
#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "adapters/memory/journal.h"
#include "base/json_writer.h"
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

std::string json_of(const Verdict& v, const BenchUpgradeOptions& o) {
  JsonWriter w;
  w.object().field("gpus", o.twin.gpus).field("bad_version", o.bad).field("useful_loss_pct", v.loss_pct.mean);
  const auto bound = [&](std::string_view key, double value) {
    v.runs.size() > 1 ? w.field(key, value) : w.key(key).null();
  };
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
  if (o.bad) t.twin.bad_driver = t.spec.version;
  t.threads = std::max(1U, std::thread::hardware_concurrency());
  t.make_journal = [] { return std::make_unique<MemoryJournal>(MemoryJournal::Keep::count); };
  const std::size_t nodes = t.twin.site.nodes.size();
  Progress progress("upgrading", o.progress);
  t.progress = [&](double done) { progress.update(done); };
  auto runs = trial::upgrade_trial(t);
  if (!runs) return say_error(runs.error());
  const Verdict v = judge(std::move(*runs), o, nodes);
  put(o.format == report::Format::json ? json_of(v, o) : text_of_runs(v, o));
  return v.failed.empty() ? 0 : kExitFindings;
}

}  // namespace muster::cmd
