// muster bench llama3: how much of 54 days a job of 16,384 GPUs trains, under the published interruptions.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "adapters/memory/journal.h"
#include "base/check.h"
#include "base/json_writer.h"
#include "commands.h"
#include "ingest/cluster_file.h"
#include "ingest/embedded.h"
#include "model/fields.h"
#include "predict/checkpoint.h"
#include "progress.h"
#include "say.h"
#include "scene.h"
#include "trial/llama3.h"

namespace muster::cmd {
namespace {

constexpr double kDistanceMax = 0.3;  // points below the optimum
constexpr double kMedianMax_s = 180, kP99Max_s = 600;
constexpr double kCrewPct = 90, kCrewWithin = 1;  // what the crew is calibrated to
constexpr int kExitFindings = 6;

struct Outcome {
  std::string policy;
  bool crew = false;
  trial::Llama3Report r;
  std::vector<std::string> failed;  // bounds that are not kept
};

void judge(Outcome& o) {
  const trial::Llama3Report& r = o.r;
  const auto expect = [&](bool ok, std::string what) {
    if (!ok) o.failed.push_back(std::move(what));
  };
  expect(r.violations.empty(), fmt::format("{} violations of the safety rules, the first: {}", r.violations.size(),
                                           r.violations.empty() ? "" : r.violations.front()));
  expect(r.jobs_lost == 0, fmt::format("the job was given up in {} runs", r.jobs_lost));
  // Faults that strike a job that is down already are part of the same interruption; the rest is chance.
  const double gap = r.interruptions.mean - r.expected;
  const double allowed = 0.1 * r.expected + 3 * std::sqrt(r.expected / static_cast<double>(r.seeds));
  expect(gap < allowed && -gap < allowed,
         fmt::format("{:.0f} interruptions in a run instead of {:.0f}: not the published process", r.interruptions.mean,
                     r.expected));
  if (o.crew) {
    const double off = r.effective_pct.mean - kCrewPct;
    return expect(off <= kCrewWithin && -off <= kCrewWithin,
                  fmt::format("effective time {:.2f} %: the crew is calibrated to {} %", r.effective_pct.mean, kCrewPct));
  }
  const double at = r.optimum_pct - r.effective_pct.mean;
  expect(at <= kDistanceMax, fmt::format("{:.2f} points below the optimum for {:.0f} s to recover", at, r.recover_all_mean_s));
  const double stated = r.optimum_stated_pct - r.effective_pct.mean;
  expect(stated <= kDistanceMax,
         fmt::format("{:.2f} points below the optimum for {:.0f} s to recover", stated, r.setting.stated_recover_s));
  expect(r.recover_p50_s < kMedianMax_s, fmt::format("fault to first step: median {:.0f} s", r.recover_p50_s));
  expect(r.recover_p99_s < kP99Max_s, fmt::format("fault to first step: p99 {:.0f} s", r.recover_p99_s));
}

void write(JsonWriter& w, const Outcome& o) {
  const trial::Llama3Report& r = o.r;
  w.object().field("policy", o.policy).field("stall_s", r.setting.stall_s).field("restart_s", r.setting.restart_s);
  w.field("checkpoint_every_s", r.interval_s).field("checkpoint_write_s", r.write_s).field("step_s", r.setting.step_s);
  w.field("spares", r.setting.spares).field("report_every_s", r.setting.report_every_s);
  w.field("days", r.days).field("seeds", r.seeds).field("interruptions_published", r.expected);
  const auto interval = [&](std::string_view key, const trial::Mean& m) {
    r.seeds > 1 ? w.field(key, m.half_width) : w.key(key).null();
  };
  w.field("interruptions", r.interruptions.mean);
  interval("interruptions_ci95", r.interruptions);
  w.field("effective_pct", r.effective_pct.mean);
  interval("effective_ci95", r.effective_pct);
  w.field("optimum_pct", r.optimum_pct).field("optimum_stated_pct", r.optimum_stated_pct);
  w.key("breakdown_pct")
      .object()
      .field("useful", r.useful_pct)
      .field("checkpoint_stall", r.stall_pct)
      .field("lost_work", r.lost_pct);
  for (std::size_t p = 0; p < trial::kParts; ++p) w.field(names(trial::Part{})[p], r.part_pct[p]);
  w.field("first_start", r.first_start_pct).end_object();
  w.key("recovery").object().field("mean_s", r.recover_all_mean_s).field("with_spare_mean_s", r.recover_mean_s);
  w.field("p50_s", r.recover_p50_s).field("p99_s", r.recover_p99_s).field("max_s", r.recover_max_s);
  w.field("without_spare", r.without_spare).field("several_starts", r.in_vain).key("parts_mean_s").object();
  for (std::size_t p = 0; p < trial::kParts; ++p) w.field(names(trial::Part{})[p], r.part_mean_s[p]);
  w.end_object().end_object();
  w.key("causes").array();
  for (const trial::CauseShare& c : r.causes) {
    w.object()
        .field("fault", name_of(c.kind))
        .field("count_per_run", static_cast<double>(c.count) / static_cast<double>(r.seeds));
    w.field("down_pct", c.down_pct).field("lost_pct", c.lost_pct).field("recover_mean_s", c.recover_mean_s).end_object();
  }
  w.end_array().field("false_drains", r.false_drains).field("jobs_lost", r.jobs_lost).field("cpu_s_per_run", r.cpu_s);
  w.key("not_kept").array();
  for (const std::string& f : o.failed) w.value(f);
  w.end_array().end_object();
}

constexpr std::array<double, 7> kCurve_s = {0.3, 1, 2, 3, 5, 10, 30};

double optimum_pct(double per_s, double stall_s, double recover_s) {
  return 100 * predict::young_daly({per_s, stall_s, recover_s, 0}).useful;
}

std::string curve(double per_s, double recover_s) {
  std::string s = fmt::format(
      "The optimum for {:.0f} s to recover, by the stall of a checkpoint:\n  stall     interval   useful\n", recover_s);
  for (const double stall : kCurve_s) {
    const predict::CheckpointAdvice a = predict::young_daly({per_s, stall, recover_s, 0});
    s += fmt::format("  {:>4.1f} s   {:>6.0f} s   {:.2f} %\n", stall, a.interval_s, 100 * a.useful);
  }
  return s;
}

std::string render_text(const Outcome& o) {
  const trial::Llama3Report& r = o.r;
  std::string s = fmt::format(
      "\npolicy {}, stall {:g} s, a checkpoint every {:.0f} s, restart {:.0f} s, {} spare nodes; {} runs of {:g} days\n",
      o.policy, r.setting.stall_s, r.interval_s, r.setting.restart_s, r.setting.spares, r.seeds, r.days);
  if (o.crew) {
    s += fmt::format("crew: {:.0f} s at each failure, {} of them {:g} h\n", r.setting.crew.handling_s, r.setting.crew.severe,
                     r.setting.crew.severe_h);
  }
  s += fmt::format("  effective training time {:.2f} % {}\n", r.effective_pct.mean,
                   r.seeds > 1 ? fmt::format("+- {:.2f} (95 % interval)", r.effective_pct.half_width) : "(one run: no interval)");
  s +=
      fmt::format("  optimum {:.2f} % for the {:.0f} s it took to recover: {:.2f} points; {:.2f} % for {:.0f} s: {:.2f} points\n",
                  r.optimum_pct, r.recover_all_mean_s, r.optimum_pct - r.effective_pct.mean, r.optimum_stated_pct,
                  r.setting.stated_recover_s, r.optimum_stated_pct - r.effective_pct.mean);
  s += fmt::format("  of all time: useful {:.2f} %, work done again {:.2f} %, stalls {:.2f} %", r.useful_pct, r.lost_pct,
                   r.stall_pct);
  for (std::size_t p = 0; p < trial::kParts; ++p) s += fmt::format(", {} {:.2f} %", names(trial::Part{})[p], r.part_pct[p]);
  s += fmt::format(", first start {:.2f} %\n", r.first_start_pct);
  s += fmt::format("  {:.0f}{} interruptions a run (published: {:.0f})\n", r.interruptions.mean,
                   r.seeds > 1 ? fmt::format(" +- {:.0f}", r.interruptions.half_width) : "", r.expected);
  s += "    fault               a run   to recover   down       done again\n";
  for (const trial::CauseShare& c : r.causes) {
    s += fmt::format("    {:<18} {:>6.1f}   {:>8.0f} s   {:>6.3f} %   {:>6.3f} %\n", name_of(c.kind),
                     static_cast<double>(c.count) / static_cast<double>(r.seeds), c.recover_mean_s, c.down_pct, c.lost_pct);
  }
  s += fmt::format("  fault to first new step, with a spare: median {:.0f} s, p99 {:.0f} s, most {:.0f} s, mean {:.0f} s (",
                   r.recover_p50_s, r.recover_p99_s, r.recover_max_s, r.recover_mean_s);
  for (std::size_t p = 0; p < trial::kParts; ++p) {
    s += fmt::format("{}{} {:.1f} s, {:.0f} %", p == 0 ? "" : "; ", names(trial::Part{})[p], r.part_mean_s[p],
                     r.recover_mean_s > 0 ? 100 * r.part_mean_s[p] / r.recover_mean_s : 0);
  }
  s += fmt::format(")\n  {} interruptions found no spare, {} took more than one start, {} nodes were drained without a fault\n",
                   r.without_spare, r.in_vain, r.false_drains);
  for (const std::string& f : o.failed) s += "  NOT KEPT: " + f + "\n";
  return s;
}

Result<trial::Llama3Options> options_of(const BenchLlama3Options& o, const std::string& policy, double stall_s) {
  trial::Llama3Options b;
  auto site = preset_cluster("h100-16384");
  if (!site) return tl::unexpected(site.error());
  const std::uint32_t nodes = o.gpus / site->gpus_per_node;
  if (nodes > site->nodes.size()) return fail(Code::bad_input, fmt::format("--gpus: at most {}", site->gpus()));
  b.site = std::move(*site);
  b.site.nodes.resize(nodes);
  const NodeSpec& last = b.site.nodes.back();
  b.site.racks.resize(last.rack + 1);
  b.site.leaves = last.leaf + 1;
  b.site.pods = last.pod + 1;
  b.site.domains = last.domain + 1;
  b.site.storage_write_gbs = o.storage_gbs;
  const auto csv = embedded_file("llama3_interruptions.csv");
  MUSTER_CHECK(csv);
  auto causes = trial::parse_published(*csv, "data/llama3_interruptions.csv");
  if (!causes) return tl::unexpected(causes.error());
  b.causes = std::move(*causes);
  auto loaded = load_policy(policy);
  if (!loaded) return tl::unexpected(loaded.error());
  if (auto ok = fit_policy(*loaded, b.site, policy); !ok) return tl::unexpected(ok.error());
  b.policy = std::move(*loaded);
  trial::Llama3Setting& s = b.setting;
  s.stall_s = stall_s;
  s.restart_s = o.restart_s;
  s.step_s = o.step_s;
  s.checkpoint_gb = o.checkpoint_gb;
  s.checkpoint_every_s = o.checkpoint_every_s;
  s.stated_recover_s = o.recover_s;
  s.spares = static_cast<std::uint32_t>(o.spares);
  s.report_every_s = o.report_every_s;
  if (b.policy.name == "manual") {
    s.crew = {o.handling_s, static_cast<std::uint32_t>(o.severe), o.severe_h};
    s.checkpoint_every_s = o.crew_checkpoint_s;
  }
  b.days = o.days;
  b.first_seed = o.first_seed;
  b.seeds = o.seeds;
  b.threads = std::max(1U, std::thread::hardware_concurrency());
  b.make_journal = [] { return std::make_unique<MemoryJournal>(); };
  return b;
}

}  // namespace

int run_bench_llama3(const BenchLlama3Options& o) {
  std::vector<trial::Llama3Options> cells;
  for (const std::string& policy : o.policies) {
    for (const double stall : o.stalls_s) {
      auto b = options_of(o, policy, stall);
      if (!b) return say_error(b.error());
      if (b->policy.name == "manual" && stall != o.stalls_s.back()) continue;
      cells.push_back(std::move(*b));
    }
  }
  std::vector<Outcome> outcomes;
  {
    Progress progress("training", o.progress);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i].progress = [&](double done) {
        progress.update((static_cast<double>(i) + done) / static_cast<double>(cells.size()));
      };
      auto r = trial::bench_llama3(cells[i]);
      if (!r) return say_error(r.error());
      Outcome x{cells[i].policy.name, cells[i].setting.crew.handling_s > 0, std::move(*r), {}};
      judge(x);
      outcomes.push_back(std::move(x));
    }
  }
  const bool kept = std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& x) { return x.failed.empty(); });
  const double per_s = outcomes.front().r.expected / (o.days * 86'400);
  if (o.format == report::Format::json) {
    JsonWriter w;
    w.object().field("gpus", o.gpus).field("failures_per_day", per_s * 86'400).key("curve").array();
    for (const double stall : kCurve_s) {
      w.object().field("stall_s", stall).field("optimum_pct", optimum_pct(per_s, stall, o.recover_s)).end_object();
    }
    w.end_array().key("runs").array();
    for (const Outcome& x : outcomes) write(w, x);
    w.end_array().field("kept", kept).end_object();
    put(w.take() + "\n");
  } else {
    std::string s = fmt::format("One job of {} GPUs, {:.2f} interruptions a day by the published mix (simulated)\n\n", o.gpus,
                                per_s * 86'400);
    s += curve(per_s, o.recover_s);
    for (const Outcome& x : outcomes) s += render_text(x);
    put(s);
  }
  return kept ? 0 : kExitFindings;
}

}  // namespace muster::cmd
