// muster bench heat: a cooling fault in one row, once with the controller blind to heat and once aware of it.
#include <fmt/core.h>

#include "adapters/memory/journal.h"
#include "base/json_writer.h"
#include "commands.h"
#include "ingest/cluster_file.h"
#include "progress.h"
#include "say.h"
#include "trial/heat_bench.h"

namespace muster::cmd {
namespace {

constexpr std::uint32_t kRacksPerRow = 8;

void write(JsonWriter& w, std::string_view name, const trial::HeatOutcome& o) {
  w.key(name).object();
  w.field("throttled_gpu_h", o.throttled_gpu_h).field("useful_gpu_h", o.useful_gpu_h).field("jobs_completed", o.jobs_completed);
  w.field("limit_orders", o.limits).field("least_limit_pct", o.least_limit_pct).field("limits_lifted", o.lifted);
  w.field("warned_after_min", o.warned_min).field("hottest_inlet_c", o.hottest_inlet_c).end_object();
}

std::string render_json(const trial::HeatReport& r) {
  JsonWriter w;
  w.object().field("seed", r.seed).field("gpus", r.gpus).field("row_gpus", r.row_gpus).field("fault_h", r.fault_h);
  write(w, "blind", r.blind);
  write(w, "aware", r.aware);
  w.field("throttled_less_pct", r.throttled_less_pct).field("useful_ratio", r.useful_ratio).end_object();
  return w.take() + "\n";
}

std::string render_text(const trial::HeatReport& r) {
  std::string s = fmt::format("{} GPUs, the cooling of a row of {} fails for {:.1f} h (simulated, seed {})\n\n", r.gpus,
                              r.row_gpus, r.fault_h, r.seed);
  s += "                        blind      aware\n";
  s += fmt::format("throttled GPU-hours {:>9.1f}  {:>9.1f}   {:.1f} % less\n", r.blind.throttled_gpu_h, r.aware.throttled_gpu_h,
                   r.throttled_less_pct);
  s += fmt::format("useful GPU-hours    {:>9.0f}  {:>9.0f}   {:.1f} % of it\n", r.blind.useful_gpu_h, r.aware.useful_gpu_h,
                   100 * r.useful_ratio);
  s += fmt::format(
      "\nThe row was known to grow hot {:.0f} minutes after the fault; its power was limited in {} steps, to {} % at the "
      "least, {}.\n",
      r.aware.warned_min, r.aware.limits, r.aware.least_limit_pct,
      r.aware.lifted ? "and all of it is lifted again" : "and a limit still stands at the end");
  return s;
}

}  // namespace

int run_bench_heat(const BenchHeatOptions& o) {
  auto site = plain_cluster(o.gpus);
  if (!site) return say_error(site.error());
  for (std::uint32_t r = 0; r < site->racks.size(); ++r) site->rack_row.push_back(r / kRacksPerRow);
  trial::HeatBenchOptions bench;
  bench.site = std::move(*site);
  bench.policy = default_policy();
  bench.seed = o.seed;
  bench.make_journal = [] { return std::make_unique<MemoryJournal>(MemoryJournal::Keep::count); };
  Result<trial::HeatReport> report = fail(Code::internal, "");
  {
    Progress progress("heating", o.progress);
    bench.progress = [&](double done) { progress.update(done); };
    report = trial::bench_heat(bench);
  }
  if (!report) return say_error(report.error());
  put(o.format == report::Format::json ? render_json(*report) : render_text(*report));
  return 0;
}

}  // namespace muster::cmd
