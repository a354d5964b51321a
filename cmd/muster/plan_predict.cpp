// muster plan predict, muster calibrate runs, muster bench accuracy: training runs predicted, and how well.
#include "commands.h"
#include "files.h"
#include "ingest/calibration_file.h"
#include "ingest/hardware_file.h"
#include "report/predictions.h"
#include "say.h"
#include "training_tables.h"

namespace muster::cmd {
namespace {

std::optional<predict::RunPrediction> predicted(const TrainingRow& r) {
  return predict::predict_run(r, gpu_models(), shipped_calibrations());
}

int put_table(const report::Table& t, report::Format format) {
  put(format == report::Format::csv ? report::render_csv(t, true) : report::render_table(t, {.colour = colour_wanted()}));
  return finish_output();
}

}  // namespace

int run_plan_predict(const PlanPredictOptions& o) {
  const auto text = read_file(o.batch);
  if (!text) return say_error(text.error());
  const auto csv = parse_csv(*text, o.batch, false);
  if (!csv) return say_error(csv.error());
  const auto rows = read_training_rows(*csv, o.batch);
  if (!rows) return say_error(rows.error());
  std::vector<std::optional<predict::RunPrediction>> all;
  for (const TrainingRow& r : rows->rows) all.push_back(predicted(r));
  return put_table(report::predictions_table(*csv, *rows, all), o.format);
}

int run_calibrate_runs(const CalibrateRunsOptions& o) {
  const auto rows = read_training_folder(o.data);
  if (!rows) return say_error(rows.error());
  put(report::render_calibrations(predict::calibrate(*rows, gpu_models(), shipped_software())));
  return finish_output();
}

int run_bench_accuracy(const BenchAccuracyOptions& o) {
  const auto rows = read_training_folder(o.data);
  if (!rows) return say_error(rows.error());
  std::vector<report::Scored> scored;
  for (const TrainingRow& r : *rows) {
    if (predict::teaches(r) && !o.choices && !o.rows) continue;
    if (auto p = predicted(r)) scored.push_back({&r, *p});
  }
  if (o.choices) return put_table(report::choice_table(report::choices(scored)), o.format);
  if (o.rows) return put_table(report::scored_table(scored), o.format);
  return put_table(report::accuracy_table(scored), o.format);
}

}  // namespace muster::cmd
