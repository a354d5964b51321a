// How long collectives take: for people by size or algorithm, beside what was measured, and as the files that ship.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ingest/collective_rows.h"
#include "predict/collectives.h"
#include "report/predictions.h"

namespace muster::report {

struct PredictedCollective {
  double bytes = 0;
  predict::CollectivePrediction prediction;
};
Table collective_table(std::span<const PredictedCollective> all);

Table collective_predictions(const Csv& csv, const CollectiveRows& rows,
                             std::span<const std::optional<predict::CollectivePrediction>> predicted);
// By the network they go over, and of at least `least_bytes`.
Table collective_accuracy(std::span<const CollectiveRow> rows,
                          std::span<const std::optional<predict::CollectivePrediction>> predicted, double least_bytes);

// data/calibration/collectives.csv, collective_classes.csv and collective_spread.csv.
std::string render_collectives(std::span<const CollectiveRow> rows);
std::string render_collective_classes(std::span<const CollectiveClass> classes);
std::string render_collective_spread(const CollectiveSpread& spread);

}  // namespace muster::report
