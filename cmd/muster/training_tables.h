// The tables of measured training runs, and of measured collectives, in a folder.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "model/collective.h"
#include "model/training_row.h"

namespace muster::cmd {

// Only runs that were measured. What is no such table is left out, and said.
Result<std::vector<TrainingRow>> read_training_folder(const std::string& folder);
Result<std::vector<CollectiveRow>> read_collective_folder(const std::string& folder);

}  // namespace muster::cmd
