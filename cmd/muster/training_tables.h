// The tables of measured training runs in a folder.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "model/training_row.h"

namespace muster::cmd {

// Only runs that were measured. What is no such table is left out, and said.
Result<std::vector<TrainingRow>> read_training_folder(const std::string& folder);

}  // namespace muster::cmd
