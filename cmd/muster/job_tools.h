// Questions about one job of a running Muster: how long its steps take, how its ranks stand against each other, what is held
// against it. Each takes {"job": "17"} and, for a moment of the past, "to".
#pragma once
#include <memory>
#include <string>

#include "ports/past.h"
#include "ports/tool.h"
#include "ports/view.h"
#include "timeline_tool.h"

namespace muster::cmd {

// What is shown: now, or at a moment of the past.
struct Moments {
  const View& view;
  Past& past;
  Result<std::shared_ptr<const Snapshot>> at(const Value& input) const;
};

// {"job", "from", "to"} -> report::job_steps_json.
class JobStepsTool final : public Tool {
 public:
  JobStepsTool(const View& view, Past& past, TimelineTool& timeline) : moments_{view, past}, timeline_(timeline) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  Moments moments_;
  TimelineTool& timeline_;
};

// {"job", "to"} -> report::job_ranks_json. Readings are of the present alone.
class JobRanksTool final : public Tool {
 public:
  JobRanksTool(const View& view, Past& past) : moments_{view, past} {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  Moments moments_;
};

// {"job", "to"} -> report::case_json.
class DiagnoseJobTool final : public Tool {
 public:
  DiagnoseJobTool(const View& view, Past& past) : moments_{view, past} {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  Moments moments_;
};

}  // namespace muster::cmd
