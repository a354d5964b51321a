#include "capacity_trace.h"

#include <fmt/core.h>

#include <map>
#include <tuple>

#include "files.h"
#include "ingest/gunzip.h"
#include "ingest/job_trace.h"
#include "ingest/sacct_file.h"
#include "predict/demand.h"
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

// Where no column of sacct could say how many GPUs a job had, "no GPU" would be a lie.
bool tells_gpus(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  if (header.find('|') == std::string_view::npos) return true;  // JSON
  for (const std::string_view column : {"TRES", "AllocGRES", "ReqGRES", "GresUsed"}) {
    if (header.find(column) != std::string_view::npos) return true;
  }
  return false;
}

// What lies beyond a gap of weeks is left out, by name.
void keep_one_stretch(RecordedTrace& t) {
  auto& jobs = t.trace.jobs;
  const predict::JobStretch s = predict::last_stretch(jobs);
  const auto cut = [&](std::size_t from, std::size_t to, const char* where) {
    if (from == to) return;
    say(fmt::format("left out: {} from {} to {}, {} a gap of more than {} without a job: a wrong date, or another time",
                    report::counted(static_cast<std::int64_t>(to - from), "job"), render_utc(jobs[from].submitted).substr(0, 10),
                    render_utc(jobs[to - 1].submitted).substr(0, 10), where, report::render_span(predict::kSilentMax)));
    const auto at = [](auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
    jobs.erase(at(jobs, from), at(jobs, to));
    if (!t.waits.empty()) t.waits.erase(at(t.waits, from), at(t.waits, to));
  };
  cut(s.last, jobs.size(), "behind");
  cut(0, s.first, "before");
}

// Rows that are the same to the second, the length and the GPUs: members of an array begin so, but rarely end so.
void warn_of_doubles(const std::vector<TraceJob>& jobs) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::uint32_t>, std::uint64_t> rows;
  for (const TraceJob& j : jobs) ++rows[{j.submitted.ns, j.run.ns, j.gpus}];
  const std::size_t again = jobs.size() - rows.size();
  if (again * 5 < jobs.size()) return;
  say(fmt::format(
      "{} of {} jobs are there again with the same second, length and GPUs: if two exports were put together, demand is "
      "counted twice",
      report::render_count(static_cast<std::int64_t>(again)), report::render_count(static_cast<std::int64_t>(jobs.size()))));
}

Result<RecordedTrace> read(const std::string& file) {
  const auto bytes = read_file(file);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto text = gunzip_if_gzip(*bytes);
  if (!text) return fail(text.error().code, fmt::format("{}: {}", file, text.error().what), text.error().next);
  if (is_sacct(*text)) {
    const auto records = parse_sacct_file(*text, file);
    if (!records) return tl::unexpected(records.error());
    RecordedTrace t = trace_of(records->jobs);
    if (t.trace.jobs.empty() && !tells_gpus(*text))
      return fail(
          Code::bad_input, file + ": no column says how many GPUs a job had",
          "print AllocTRES and ReqTRES too: sacct -a -X -D -P -o JobID,State,Submit,Eligible,Start,End,AllocTRES,ReqTRES");
    return t;
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
  left_out(t->sooner, "ended before the start, as after a clock was set back");
  left_out(t->repeated, "came twice: the same run, submitted and begun at the same second");
  left_out(t->unfinished, "had not ended");
  if (t->trace.jobs.empty()) {
    return fail(Code::bad_input, file + ": no job that used a GPU and ended",
                "give a job trace (timestamp, duration, num_gpus), or what `sacct -a -X -P` prints");
  }
  keep_one_stretch(*t);
  if (t->waits.empty()) warn_of_doubles(t->trace.jobs);
  return t;
}

}  // namespace muster::cmd
