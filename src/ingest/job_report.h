// How far a job is and when it last saved itself, by its own word: a line of JSON that it sends (docs/jobs.md), or lines of the
// log that Megatron-LM writes anyway. A job's own word: it can make Muster spare its work or not, and nothing else.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace muster {

constexpr std::size_t kReportLineMax = 1024;  // bytes
constexpr std::size_t kReportJobMax = 64;     // bytes of a job's name
constexpr std::int64_t kReportStepMax = 1'000'000'000'000'000;
constexpr double kReportSecondsMax = 1e6;

struct JobReport {
  std::string job;               // as its engine calls it: "17", "17_3"; untrusted
  std::int64_t attempt = 0;      // 0: the one that runs
  std::int64_t step = -1;        // reached; below 0: not told, as with all below
  std::int64_t saved_step = -1;  // safe in a checkpoint that is complete
  double step_s = -1;            // of a step, lately
  double saving_s = -1;          // that steps stood still for the last checkpoint
  bool operator==(const JobReport&) const = default;
};

// One line of JSON, or the same already read. What no job sends is refused with the reason.
Result<JobReport> parse_job_report(std::string_view line);
Result<JobReport> read_job_report(const Value& v);
// The same as JSON, without braces; `job` is left out.
std::string render_job_report(const JobReport& r);

// A line of Megatron-LM's log: "iteration 100/ 500000 | ... | elapsed time per iteration (ms): 1234.5 | ...", "successfully saved
// checkpoint from iteration 500 to ...", and "save-checkpoint ...: (13424.36, 13424.53)", which has no step. `job` stays empty.
std::optional<JobReport> parse_megatron_line(std::string_view line);

}  // namespace muster
