// The timeline of a running Muster: what happened on its nodes in any stretch of time, from the journal that it writes.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ports/tool.h"
#include "report/history.h"
#include "report/job_history.h"

namespace muster::cmd {

// A time of a tool's input; none where it is left out or empty.
Result<std::optional<Time>> time_in(const Value& input, std::string_view key);
// The job that a tool is asked about: {"job": "17"}.
Result<JobId> job_of(const Value& input);

// {"from": "2026-11-15T00:00:00Z", "to": "...", "max_bars": 20000}, each may be left out: the last six hours of the record.
// Answers with report::History's window; with {"job": "17", "to": "..."}, with report::JobHistory's story of that one. The first
// call reads the whole journal, later ones what was written since.
class TimelineTool final : public Tool {
 public:
  explicit TimelineTool(std::string journal) : journal_(std::move(journal)) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;
  // How far a job had come, from what the same reading of the journal found.
  Result<std::vector<report::JobPoint>> points(JobId job, Time from, Time to);

 private:
  Result<void> read_on();

  std::string journal_;  // its file
  std::mutex lock_;
  std::string id_;  // of the journal that was read
  std::uint64_t seq_ = 0;
  report::History history_;
  report::JobHistory jobs_;
};

}  // namespace muster::cmd
