// muster bench claims: what is said of GPU clusters, computed again with what ships.
#include "commands.h"
#include "ingest/calibration_file.h"
#include "ingest/collective_rows.h"
#include "ingest/hardware_file.h"
#include "predict/calibrate.h"
#include "report/claims.h"
#include "say.h"

namespace muster::cmd {

int run_bench_claims(const BenchClaimsOptions& o) {
  const GpuModel& h100 = *find_gpu_model("h100");
  const auto chosen =
      predict::choose_calibration(shipped_calibrations(), shipped_software(), gpu_models(), h100, Dtype::bf16, "", false);
  if (!chosen) return say_error(chosen.error());
  const predict::Collectives collectives(shipped_collectives(), shipped_collective_classes(), gpu_models(),
                                         shipped_collective_spread());
  const design::ClaimInputs in{*find_gpu_model("a100"), h100,           *find_gpu_model("h200"),
                               chosen->calibration,     transformers(), collectives};
  const report::Table t = report::claims_table(design::claims(in));
  put(o.format == report::Format::csv
          ? report::render_csv(t, true)
          : report::render_table(t, {.wide = o.format == report::Format::wide, .colour = colour_wanted()}));
  return finish_output();
}

}  // namespace muster::cmd
