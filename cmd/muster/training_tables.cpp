#include "training_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "files.h"
#include "ingest/training_rows.h"
#include "say.h"

namespace muster::cmd {

Result<std::vector<TrainingRow>> read_training_folder(const std::string& folder) {
  std::error_code why;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, why)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path().string());
  }
  if (why) return tl::unexpected(file_error("read", folder, why.value()));
  std::sort(files.begin(), files.end());
  std::vector<TrainingRow> out;
  for (const std::string& file : files) {
    const auto text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    const auto csv = parse_csv(*text, file, false);
    if (!csv) return tl::unexpected(csv.error());
    const auto rows = read_training_rows(*csv, file);
    if (!rows) {
      say(fmt::format("left out: {}", rows.error().what));
      continue;
    }
    for (const TrainingRow& r : rows->rows) {
      if (r.step_s > 0) out.push_back(r);
    }
  }
  if (out.empty()) {
    return fail(Code::bad_input, fmt::format("{} has no table of training runs that is known", folder),
                "docs/formats/training.md lists their columns");
  }
  return out;
}

}  // namespace muster::cmd
