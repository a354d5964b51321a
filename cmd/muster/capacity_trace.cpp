#include "capacity_trace.h"

#include <fmt/core.h>

#include "files.h"
#include "ingest/gunzip.h"
#include "ingest/job_trace.h"
#include "ingest/sacct_file.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

// sacct with a start and an end for each job, or as JSON; a trace has a duration instead.
bool is_sacct(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return true;
  const std::string_view header = text.substr(0, text.find('\n'));
  const auto has = [&](std::string_view column) { return header.find(column) != std::string_view::npos; };
  return has("JobID") && has("State") && has("Start") && has("End");
}

Result<RecordedTrace> read(const std::string& file) {
  const auto bytes = read_file(file);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto text = gunzip_if_gzip(*bytes);
  if (!text) return fail(text.error().code, fmt::format("{}: {}", file, text.error().what), text.error().next);
  if (is_sacct(*text)) {
    const auto records = parse_sacct_file(*text, file);
    if (!records) return tl::unexpected(records.error());
    return trace_of(records->jobs);
  }
  auto trace = parse_job_trace(*text, file);
  if (!trace) return tl::unexpected(trace.error());
  RecordedTrace out;
  out.trace = std::move(*trace);
  return out;
}

}  // namespace

Result<RecordedTrace> load_capacity_trace(const std::string& file) {
  auto t = read(file);
  if (!t) return t;
  const auto left_out = [](std::uint64_t n, std::string_view why) {
    if (n > 0) say(fmt::format("left out: {} that {}", report::counted(static_cast<std::int64_t>(n), "job"), why));
  };
  left_out(t->trace.without_gpus, "asked for no GPU");
  left_out(t->trace.without_run, "ran for no time");
  left_out(t->unfinished, "had not ended");
  if (t->trace.jobs.empty()) {
    return fail(Code::bad_input, file + ": no job that used a GPU and ended",
                "give a job trace (timestamp, duration, num_gpus), or what `sacct -a -X -P` prints");
  }
  return t;
}

}  // namespace muster::cmd
