#include "job_environment_tool.h"

#include "adapters/sqlite/journal.h"
#include "report/job_environment.h"
#include "tool_input.h"

namespace muster::cmd {

Result<std::string> JobEnvironmentTool::call(const Value& input) {
  ToolInput in(input, "job_environment");
  const std::string job = in.text("job"), against = in.text("against");
  const bool all = in.yes("all");
  if (in.wrong()) return tl::unexpected(*in.wrong());
  const auto one = report::parse_run_name(job);
  if (!one) return tl::unexpected(one.error());
  const auto other = against.empty() ? one : report::parse_run_name(against);
  if (!other) return tl::unexpected(other.error());
  auto journal = sqlite::open({.path = journal_, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  report::JobRuns runs({one->job, other->job});
  const auto read = (*journal)->read(1, [&](const Event& e) {
    runs.take(e);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return against.empty() ? runs.environment_json(*one) : runs.difference_json(*one, *other, all);
}

}  // namespace muster::cmd
