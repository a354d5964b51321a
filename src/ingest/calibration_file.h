// data/calibration/: what software gets of a GPU's data sheet (training.csv, fitted), and where such a fit begins (software.csv).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/calibration.h"

namespace muster {

// Columns are software, release, gpu, dtype, rows, low, high and any of calibration_fields(); what has no column keeps its
// default.
Result<std::vector<Calibration>> parse_calibrations(std::string_view csv, std::string_view where = "training.csv");

// Columns are software, free (names with blanks between them) and any of calibration_fields().
Result<std::vector<Software>> parse_software(std::string_view csv, std::string_view where = "software.csv");

// What ships with the program; made once.
const std::vector<Calibration>& shipped_calibrations();
const std::vector<Software>& shipped_software();

}  // namespace muster
