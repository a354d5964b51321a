// What a job ran in, and what changed between two runs, from the journal of a running Muster or from a file.
#pragma once
#include <string>

#include "base/result.h"
#include "ports/tool.h"

namespace muster::cmd {

// {"job": "4711.2"} -> report::JobRuns::environment_json; with {"against": "4802", "all": true} -> difference_json. Reads the
// whole journal each time, and keeps nothing.
class JobEnvironmentTool final : public Tool {
 public:
  explicit JobEnvironmentTool(std::string journal) : journal_(std::move(journal)) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  std::string journal_;  // its file
};

}  // namespace muster::cmd
