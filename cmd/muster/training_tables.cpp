#include "training_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "files.h"
#include "ingest/collective_rows.h"
#include "ingest/training_rows.h"
#include "say.h"

namespace muster::cmd {

namespace {

// What `read` takes from each table; rows without a figure that was measured are left out.
template <class Row, class Rows>
Result<std::vector<Row>> read_folder(const std::string& folder, Result<Rows> (*read)(const Csv&, std::string_view),
                                     double Row::*measured, const char* of, const char* doc) {
  std::error_code why;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, why)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path().string());
  }
  if (why) return tl::unexpected(file_error("read", folder, why.value()));
  std::sort(files.begin(), files.end());
  std::vector<Row> out;
  for (const std::string& file : files) {
    const auto text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    const auto csv = parse_csv(*text, file, false);
    if (!csv) return tl::unexpected(csv.error());
    const auto rows = read(*csv, file);
    if (!rows) {
      say(fmt::format("left out: {}", rows.error().what));
      continue;
    }
    for (const Row& r : rows->rows) {
      if (r.*measured > 0) out.push_back(r);
    }
  }
  if (out.empty()) {
    return fail(Code::bad_input, fmt::format("{} has no table of {} that is known", folder, of),
                fmt::format("docs/formats/{}.md lists their columns", doc));
  }
  return out;
}

}  // namespace

Result<std::vector<TrainingRow>> read_training_folder(const std::string& folder) {
  return read_folder(folder, read_training_rows, &TrainingRow::step_s, "training runs", "training");
}

Result<std::vector<CollectiveRow>> read_collective_folder(const std::string& folder) {
  return read_folder(folder, read_collective_rows, &CollectiveRow::time_s, "collectives", "collectives");
}

}  // namespace muster::cmd
