#include "fleet_held.h"

#include <chrono>

#include "files.h"
#include "ingest/declared_file.h"
#include "ingest/performance_file.h"

namespace muster::cmd {

Time wall_now() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

Result<Declarations> load_declared(const std::string& file) {
  if (file.empty()) return Declarations{};
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return read_declared(*text, file);
}

Result<NodePerformance> load_performance(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return read_performance(*text, file);
}

}  // namespace muster::cmd
