// Predictions of training runs beside what was measured: a table with columns added to it, and how far off they are as a whole.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ingest/csv.h"
#include "ingest/training_rows.h"
#include "predict/calibrate.h"
#include "report/table.h"

namespace muster::report {

// The rows as they came, then predicted_<metric>, error_pct, low, high and basis: calibrated, extrapolated, or why there is none.
Table predictions_table(const Csv& csv, const TrainingRows& rows,
                        std::span<const std::optional<predict::RunPrediction>> predicted);

struct Scored {
  const TrainingRow* row = nullptr;
  predict::RunPrediction prediction;
};

// One line for each software: rows that nothing was fitted on, their errors, and the share that lies within the intervals.
Table accuracy_table(std::span<const Scored> scored);

// data/calibration/training.csv.
std::string render_calibrations(std::span<const Calibration> all);

}  // namespace muster::report
