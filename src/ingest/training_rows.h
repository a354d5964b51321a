// Tables of measured training runs, whatever their columns are called: docs/formats/training.md lists the headers that are known.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "ingest/csv.h"
#include "model/training_row.h"

namespace muster {

struct TrainingRows {
  std::vector<TrainingRow> rows;
  struct Skipped {
    std::size_t row = 0;
    std::string why;  // "it does not say how it was spread over the GPUs"
  };
  std::vector<Skipped> skipped;
};

// An error where no known set of columns fits, or where a cell is no number. A row that lacks what a prediction needs is skipped.
Result<TrainingRows> read_training_rows(const Csv& csv, std::string_view file);

}  // namespace muster
