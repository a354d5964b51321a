// Predictions of training runs and collectives beside what was measured: a table with columns added to it, and how far off they
// are as a whole.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ingest/csv.h"
#include "ingest/training_rows.h"
#include "predict/calibrate.h"
#include "report/table.h"

namespace muster::report {

// What is told of one row of a table, in the unit of its own column.
struct PredictedRow {
  std::size_t row = 0;
  std::string none;  // why there is no prediction; empty: there is one
  double predicted = 0, low = 0, high = 0;
  double measured = 0;  // 0: not known
  bool calibrated = false;
};
// The rows as they came, then predicted_<metric>, error_pct, low, high and basis: calibrated, extrapolated, or why there is none.
Table with_predictions(const Csv& csv, std::string_view metric, std::span<const PredictedRow> rows);

struct PredictionError {
  std::string family;
  double pct = 0;
  bool within = false;  // the interval
};
// One line for each family, and one for all of them.
Table error_table(const char* family, std::span<const PredictionError> errors);
// With what others say of their own mean errors on the same data, or of their own, by the first cell.
Table with_peers(Table table, const std::map<std::string, std::string>& of_others);

Table predictions_table(const Csv& csv, const TrainingRows& rows,
                        std::span<const std::optional<predict::RunPrediction>> predicted);

struct Scored {
  const TrainingRow* row = nullptr;
  predict::RunPrediction prediction;
};

// One line for each software: rows that nothing was fitted on, their errors, and the share that lies within the intervals.
Table accuracy_table(std::span<const Scored> scored);
// One line for each run, and whether it was fitted.
Table scored_table(std::span<const Scored> scored);

// Of runs of one model on as many GPUs: what it costs to take the one that is predicted to be fastest (a sequence) rather than
// the one that was. Models of one run say nothing.
struct Choice {
  std::string software, model;
  std::uint32_t gpus = 0;
  std::size_t runs = 0;
  double lost = 0;  // share of the best one's time
};
std::vector<Choice> choices(std::span<const Scored> scored);
Table choice_table(std::span<const Choice> all);

// data/calibration/training.csv.
std::string render_calibrations(std::span<const Calibration> all);

}  // namespace muster::report
