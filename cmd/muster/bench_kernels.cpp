// muster bench kernels: how far predicted kernels and small steps are off, on shapes that nothing was fitted on.
#include "commands.h"
#include "files.h"
#include "ingest/timings_file.h"
#include "model_choice.h"
#include "report/timings.h"
#include "say.h"

namespace muster::cmd {

int run_bench_kernels(const BenchKernelsOptions& o) {
  std::vector<Timing> timings = shipped_timings();
  if (!o.timings.empty()) {
    const auto text = read_file(o.timings);
    if (!text) return say_error(text.error());
    auto read = parse_timings(*text, o.timings);
    if (!read) return say_error(read.error());
    timings = std::move(*read);
  }
  const auto gpu = chosen_gpu(o.gpu);
  if (!gpu) return say_error(gpu.error());
  const auto families = predict::fit_timings(**gpu, timings);
  const report::Table t = o.rows ? report::timing_rows(families) : report::timing_errors(families);
  put(o.format == report::Format::csv ? report::render_csv(t, true) : report::render_table(t, {.colour = colour_wanted()}));
  return finish_output();
}

}  // namespace muster::cmd
