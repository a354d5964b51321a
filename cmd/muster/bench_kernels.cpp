// muster bench kernels: how far predicted kernels and small steps are off, on shapes that nothing was fitted on.
#include <fmt/format.h>

#include "commands.h"
#include "ingest/hardware_file.h"
#include "ingest/timings_file.h"
#include "predict/timings.h"
#include "report/table.h"
#include "say.h"

namespace muster::cmd {

int run_bench_kernels(const BenchKernelsOptions& o) {
  const GpuModel* gpu = find_gpu_model("h200");
  report::Table t;
  t.columns = {{"KIND"},           {"BY"},           {"FITTED", true}, {"KEPT BACK", true}, {"MEDIAN PCT", true},
               {"MEAN PCT", true}, {"MAX PCT", true}};
  std::vector<double> all;
  const auto row = [&](std::string kind, std::string by, std::uint32_t fitted, const std::vector<double>& errors) {
    double mean = 0;
    for (const double e : errors) mean += e / static_cast<double>(errors.size());
    const auto pct = [](double x) { return report::Cell(fmt::format("{:.1f}", 100 * x)); };
    t.rows.push_back({report::Cell(std::move(kind)), report::Cell(std::move(by)), report::Cell(fmt::format("{}", fitted)),
                      report::Cell(fmt::format("{}", errors.size())), pct(errors.empty() ? 0 : errors[errors.size() / 2]),
                      pct(mean), pct(errors.empty() ? 0 : errors.back())});
  };
  std::uint32_t fitted = 0;
  for (const predict::TimingFamily& f : predict::fit_timings(*gpu, shipped_timings())) {
    row(std::string(names(Timing::Kind{})[static_cast<std::size_t>(f.kind)]), f.by, f.fitted, f.errors);
    all.insert(all.end(), f.errors.begin(), f.errors.end());
    fitted += f.fitted;
  }
  std::sort(all.begin(), all.end());
  row("all of them", "", fitted, all);
  put(o.format == report::Format::csv ? report::render_csv(t, true) : report::render_table(t, {.colour = colour_wanted()}));
  return finish_output();
}

}  // namespace muster::cmd
