// muster energy: the report of what jobs drew, and which of its other commands.
#include <fmt/core.h>

#include <algorithm>

#include "energy_read.h"
#include "files.h"
#include "ingest/power_tables.h"
#include "report/energy.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr double kPueAssumed = 1.3;
constexpr double kHostAssumed_w = 350;
constexpr double kHoursOfYear = 8766;

struct Dispatch {
  int operator()(const EnergyOptions& o) const { return run_energy_report(o); }
  int operator()(const EnergyCapOptions& o) const { return run_energy_cap(o); }
  int operator()(const EnergyHoursOptions& o) const { return run_energy_hours(o); }
  int operator()(const EnergyRecordOptions& o) const { return run_energy_record(o); }
};

Result<std::vector<GpuWatts>> watts_of(const std::string& file) {
  if (file.empty()) return shipped_gpu_watts();
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_gpu_watts(*text, file);
}

}  // namespace

Result<report::EnergyReport> make_energy_report(const EnergyOptions& o) {
  if (o.power.empty() && o.prometheus.empty() && o.sacct.empty() && o.jobs.empty())
    return fail(Code::bad_input, "nothing to report on: give readings, jobs or both",
                "muster energy --power FILE --sacct FILE; see muster energy --help");
  auto watts = watts_of(o.watts);
  if (!watts) return tl::unexpected(watts.error());
  auto rates = read_energy_rates(o.rates);
  if (!rates) return tl::unexpected(rates.error());
  auto input = read_energy_input(o);
  if (!input) return tl::unexpected(input.error());
  account::EnergyOptions how;
  how.curve.meter = o.meter;
  how.curve.gap_max = from_seconds(o.gap_s);
  how.host_w = o.host_w.value_or(kHostAssumed_w);
  how.watts = std::move(*watts);
  how.gpu_type = o.gpu;
  how.from = o.since_s > 0 ? utc_now() - from_seconds(o.since_s) : moment_of(o.from);
  how.to = moment_of(o.to);
  if (how.to.ns > 0 && how.from >= how.to) return fail(Code::bad_input, "--to must be later than --from");
  report::EnergyReport r;
  r.runs = std::move(input->runs);
  if (r.runs.empty() && input->readings.tracks.empty())
    return fail(Code::not_found, "no run with GPUs and no reading in what was given");
  r.rates = std::move(rates->rates);
  r.rates.pue = o.pue.value_or(kPueAssumed);
  if (o.embodied_kg) r.rates.embodied_g_per_gpu_h = *o.embodied_kg * 1000 / (o.server_years * kHoursOfYear * o.server_gpus);
  r.currency = rates->currency;
  r.host_w = how.host_w;
  r.host_assumed = !o.host_w;
  r.pue_assumed = !o.pue;
  r.by = o.by;
  r.limit = o.limit;
  r.notes = std::move(input->notes);
  r.notes.insert(r.notes.end(), rates->notes.begin(), rates->notes.end());
  r.books = account::energy_of(r.runs, input->readings, how);
  const bool held =
      std::any_of(r.books.runs.begin(), r.books.runs.end(), [](const account::RunEnergy& e) { return e.gpu_ms > 0; });
  if (!held && r.books.nobody.total().it() == 0) r.notes.emplace_back("no run and no reading lies between --from and --to");
  r.bills = account::bill_energy(r.books, r.rates);
  return r;
}

int run_energy(const EnergyCommand& command) { return std::visit(Dispatch{}, command); }

int run_energy_report(const EnergyOptions& o) {
  const auto r = make_energy_report(o);
  if (!r) return say_error(r.error());
  switch (o.format) {
    case report::Format::json: put(report::render_energy_json(*r)); break;
    case report::Format::csv: put(report::render_energy_csv(*r)); break;
    default: put(report::render_energy_text(*r, {.wide = o.format == report::Format::wide, .colour = colour_wanted()}));
  }
  return finish_output();
}

}  // namespace muster::cmd
