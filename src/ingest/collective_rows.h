// Tables of measured collectives, whatever their columns are called: docs/formats/collectives.md lists the headers that are
// known; and data/calibration/collective*.csv.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "ingest/csv.h"
#include "model/collective.h"

namespace muster {

struct CollectiveRows {
  std::vector<CollectiveRow> rows;
  struct Skipped {
    std::size_t row = 0;
    std::string why;  // "it does not say how many bytes"
  };
  std::vector<Skipped> skipped;
};

// An error where no known set of columns fits, or where a cell is no number. A row that lacks what a prediction needs is skipped.
Result<CollectiveRows> read_collective_rows(const Csv& csv, std::string_view file);
Result<std::vector<CollectiveClass>> parse_collective_classes(std::string_view text, std::string_view where = "classes.csv");
Result<CollectiveSpread> parse_collective_spread(std::string_view text, std::string_view where = "spread.csv");

// What ships with the program.
const std::vector<CollectiveRow>& shipped_collectives();
const std::vector<CollectiveClass>& shipped_collective_classes();
const CollectiveSpread& shipped_collective_spread();

}  // namespace muster
